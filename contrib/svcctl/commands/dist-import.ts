import { defineCommand } from '../command.ts'
import { importDocuments, readDocuments, showImport } from '../distributions/archive.ts'

interface Options {
  readonly mode: string
  readonly dryRun?: boolean
}

export default defineCommand<Options>({
  name: 'dist import',
  summary: 'Creates and replaces distributions, caches, policies and key groups by a file: all of it or nothing.',
  description:
    'Every document is checked first, and each problem is told with its line. The same file again changes nothing. --mode replace also removes ' +
    'what the file does not have, of the kinds that are in it (asks, unless --yes).',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'file', summary: 'YAML or JSON; - is standard input', kind: 'path' },
  ],
  options: [
    { flags: '--mode <mode>', summary: 'default merge', choices: ['merge', 'replace'], default: 'merge' },
    { flags: '--dry-run', summary: 'show the changes, and make none' },
  ],
  examples: ['svcctl dist import home site.yaml', 'svcctl dist import home site.yaml --mode replace --dry-run'],
  async run(context, [alias, file], { mode, dryRun = false }) {
    const content = await readDocuments(context, file!)
    const client = await context.connectAdmin(alias!)
    if (mode === 'replace' && !dryRun) {
      const { removed } = await importDocuments(client, content, { mode, dryRun: true })
      const names = removed.map(({ kind, name }) => `${kind}/${name}`)
      const shown = names.slice(0, 10).join(', ') + (names.length > 10 ? ` and ${names.length - 10} others` : '')
      if (names.length > 0) await context.requireConfirmed(`Remove ${shown}?`)
    }
    const result = await importDocuments(client, content, { mode, dryRun })
    showImport(context, result)
  },
})
