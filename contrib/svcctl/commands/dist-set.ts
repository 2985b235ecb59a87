import { defineCommand } from '../command.ts'
import { connectTo, noteOrder, noteWarnings, putDistribution, readDocument } from '../distributions/document.ts'

interface Options {
  readonly ifMatch?: string
  readonly dryRun?: boolean
  readonly force?: boolean
}

export default defineCommand<Options>({
  name: 'dist set',
  summary: 'Creates or replaces a distribution by a document; in force on the next request.',
  arguments: [
    { name: 'target', summary: 'ALIAS/ID', kind: 'target' },
    { name: 'file', summary: 'JSON; - is standard input', kind: 'path' },
  ],
  options: [
    { flags: '--if-match <etag>', summary: 'only if the distribution still has this ETag' },
    { flags: '--dry-run', summary: 'check everything and store nothing' },
    { flags: '--force', summary: 'also where domains would get no certificate that browsers accept' },
  ],
  examples: ['svcctl dist set home/site site.json', 'svcctl dist set home/site site.json --dry-run'],
  async run(context, [text, file], options) {
    const place = await connectTo(context, text!)
    const stored = await putDistribution(place, await readDocument(context, file!, place.id), options)
    noteWarnings(context, stored)
    if (!options.dryRun) await noteOrder(context, place, stored)
    const status = options.dryRun ? 'valid' : 'stored'
    context.output.done({ status, distribution: place.id, etag: stored.etag }, `${text} is ${status}.`)
  },
})
