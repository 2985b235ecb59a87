import { defineCommand } from '../command.ts'
import { connectTo, deleteDistribution } from '../distributions/document.ts'

interface Options {
  readonly ifMatch?: string
  readonly force?: boolean
}

export default defineCommand<Options>({
  name: 'dist remove',
  otherNames: ['rm'],
  summary: 'Removes a distribution: from the next request on its names are not served. The bucket is kept.',
  arguments: [{ name: 'target', summary: 'ALIAS/ID', kind: 'target' }],
  options: [
    { flags: '--if-match <etag>', summary: 'only if the distribution still has this ETag' },
    { flags: '--force', summary: 'also where domains of others would get no certificate that browsers accept' },
  ],
  examples: ['svcctl dist remove home/site', 'svcctl dist remove home/site --yes'],
  async run(context, [text], options) {
    const place = await connectTo(context, text!)
    await context.requireConfirmed(`Take ${text} off its names?`)
    await deleteDistribution(place, options)
    context.output.done({ status: 'removed', distribution: place.id }, `Removed ${text}.`)
  },
})
