import { defineCommand } from '../command.ts'
import { describeImport, importDocuments, readDocuments } from '../distributions/archive.ts'

interface Options {
  readonly mode: string
}

export default defineCommand<Options>({
  name: 'dist diff',
  summary: 'Says what `dist import` of a file would change, field by field. Nothing is changed.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'file', summary: 'YAML or JSON; - is standard input', kind: 'path' },
  ],
  options: [{ flags: '--mode <mode>', summary: 'default merge', choices: ['merge', 'replace'], default: 'merge' }],
  examples: ['svcctl dist diff home site.yaml', 'svcctl dist diff home site.yaml --mode replace'],
  async run(context, [alias, file], { mode }) {
    const content = await readDocuments(context, file!)
    const result = await importDocuments(await context.connectAdmin(alias!), content, { mode, dryRun: true })
    context.output.result({ ...result }, ...describeImport(result))
  },
})
