/** Writes docs/reference, and what `svcctl admin` is made of: `npm run docs`. CI writes them again and refuses a difference. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { adminOperationsFile, describeAdminOperations } from './admin-operations.ts'
import { readDeclarations, root } from './declarations.ts'
import { writeReference } from './reference-pages.ts'

const folder = join(root, 'docs/reference')
mkdirSync(folder, { recursive: true })
const declarations = await readDeclarations()
for (const [name, text] of Object.entries(writeReference(declarations))) {
  writeFileSync(join(folder, name), text)
}

const operations = join(root, adminOperationsFile)
writeFileSync(operations, JSON.stringify(describeAdminOperations(declarations)))
execFileSync(join(root, 'node_modules/.bin/biome'), ['format', '--write', operations], { cwd: root, stdio: 'ignore' })
