/** Blocks of code in documents, by the mark before them: `<!-- tour -->` and then a fenced block. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

export interface Block {
  readonly language: string
  readonly text: string
}

export function blocksOf(document: string, mark: string): Block[] {
  const source = readFileSync(join(root, document), 'utf8')
  return [...source.matchAll(new RegExp(`<!-- ${mark} -->\\n\`\`\`(\\w+)\\n([\\s\\S]*?)\`\`\``, 'g'))].map(match => ({
    language: match[1]!,
    text: match[2]!,
  }))
}

/** One bash script out of the blocks, in order, as a reader would go through them. */
export function scriptOf(blocks: readonly Block[]): string {
  const parts = blocks.map(({ language, text }, index) => {
    if (language === 'sh') return text
    if (language === 'js')
      return `cat > block${index}.mjs <<'BLOCK'\n${text}BLOCK\n'${process.execPath}' block${index}.mjs\n`
    if (language === 'python') return `cat > block${index}.py <<'BLOCK'\n${text}BLOCK\npython3 block${index}.py\n`
    throw new Error(`A block of ${language} cannot be run`)
  })
  return `set -euo pipefail\n${parts.join('\n')}`
}
