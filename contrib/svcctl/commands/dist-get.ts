import { defineCommand } from '../command.ts'
import { exportDocuments, linesOf } from '../distributions/archive.ts'
import { connectTo, readDistribution } from '../distributions/document.ts'

interface Options {
  readonly format: string
}

export default defineCommand<Options>({
  name: 'dist get',
  otherNames: ['show'],
  summary: 'Prints a distribution as JSON, to be changed and given to `dist set`.',
  description:
    'Secrets are printed as the first digits of their hashes, which stand for them in `dist set`. As YAML it is a document for `dist import`.',
  arguments: [{ name: 'target', summary: 'ALIAS/ID', kind: 'target' }],
  options: [{ flags: '-o, --format <format>', summary: 'default json', choices: ['json', 'yaml'], default: 'json' }],
  examples: ['svcctl dist get home/site > site.json', 'svcctl dist get home/site -o yaml > site.yaml'],
  async run(context, [text], { format }) {
    const place = await connectTo(context, text!)
    const document = await readDistribution(place)
    if (format === 'json') {
      context.output.result({ ...document }, ...JSON.stringify(document, undefined, 2).split('\n'))
      return
    }
    const yaml = await exportDocuments(place.client, { kind: ['Distribution'], id: [place.id] })
    context.output.result({ yaml }, ...linesOf(yaml))
  },
})
