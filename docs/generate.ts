/** Writes docs/reference: `npm run docs`. CI writes it again and refuses a difference. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readDeclarations, root } from './declarations.ts'
import { writeReference } from './reference-pages.ts'

const folder = join(root, 'docs/reference')
mkdirSync(folder, { recursive: true })
for (const [name, text] of Object.entries(writeReference(await readDeclarations()))) {
  writeFileSync(join(folder, name), text)
}
