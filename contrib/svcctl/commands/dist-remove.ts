import { defineCommand } from '../command.ts'
import { connectTo, deleteDistribution, readDistribution } from '../distributions/document.ts'

interface Options {
  readonly ifMatch?: string
  readonly force?: boolean
}

export default defineCommand<Options>({
  name: 'dist remove',
  otherNames: ['rm'],
  summary: 'Removes a distribution: from the next request on it does not answer at its names. The bucket is kept.',
  description: 'The question says which of its names a wildcard of another distribution has then. A disabled one answers 403 there.',
  arguments: [{ name: 'target', summary: 'ALIAS/ID', kind: 'target' }],
  options: [
    { flags: '--if-match <etag>', summary: 'only if the distribution still has this ETag' },
    { flags: '--force', summary: 'also where domains of others would get no certificate that browsers accept' },
  ],
  examples: ['svcctl dist remove home/site', 'svcctl dist remove home/site --yes'],
  async run(context, [text], options) {
    const place = await connectTo(context, text!)
    const { shadowed = [] } = await readDistribution(place)
    const others = shadowed.map(
      ({ domain, wildcard, distribution = 'a distribution of somebody else' }) =>
        `${distribution} has ${domain} then, with its ${wildcard}. `,
    )
    await context.requireConfirmed(`${others.join('')}Take ${text} off its names?`)
    await deleteDistribution(place, options)
    context.output.done({ status: 'removed', distribution: place.id }, `Removed ${text}.`)
  },
})
