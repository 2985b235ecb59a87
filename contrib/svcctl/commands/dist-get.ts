import { defineCommand } from '../command.ts'
import { connectTo, readDistribution } from '../distributions/document.ts'

export default defineCommand({
  name: 'dist get',
  summary: 'Prints a distribution as JSON, to be changed and given to `dist set`.',
  description: 'Secrets are printed as the first digits of their hashes, which stand for them in `dist set`.',
  arguments: [{ name: 'target', summary: 'ALIAS/ID', kind: 'target' }],
  options: [],
  examples: ['svcctl dist get home/site > site.json'],
  async run(context, [text]) {
    const document = await readDistribution(await connectTo(context, text!))
    context.output.result({ ...document }, ...JSON.stringify(document, undefined, 2).split('\n'))
  },
})
