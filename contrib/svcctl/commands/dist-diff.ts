import { defineCommand } from '../command.ts'
import { countDifferences, importDocuments, readDocuments, showImport } from '../distributions/archive.ts'
import { conflictError } from '../errors.ts'

interface Options {
  readonly mode: string
}

export default defineCommand<Options>({
  name: 'dist diff',
  summary: 'Says what `dist import` of a file would change, field by field. Nothing is changed.',
  description: 'The exit code is 5 where there are differences.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'file', summary: 'YAML or JSON; - is standard input', kind: 'path' },
  ],
  options: [{ flags: '--mode <mode>', summary: 'default merge', choices: ['merge', 'replace'], default: 'merge' }],
  examples: ['svcctl dist diff home site.yaml', 'svcctl dist diff home site.yaml --mode replace'],
  async run(context, [alias, file], { mode }) {
    const content = await readDocuments(context, file!)
    const result = await importDocuments(await context.connectAdmin(alias!), content, { mode, dryRun: true })
    showImport(context, result)
    const count = countDifferences(result)
    if (count > 0) throw conflictError(`${count} ${count === 1 ? 'document differs' : 'documents differ'}.`)
  },
})
