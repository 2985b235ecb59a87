import { defineCommand } from '../command.ts'
import { connectTo, findDistribution, noteWarnings, putDistribution } from '../distributions/document.ts'
import { conflictError, usageError } from '../errors.ts'

interface Options {
  readonly bucket?: string
  readonly prefix?: string
  readonly alias?: readonly string[]
  readonly mode?: 'website' | 's3'
  readonly index?: string
  readonly spa?: string
  readonly dryRun?: boolean
}

export default defineCommand<Options>({
  name: 'dist create',
  summary: 'Publishes a bucket, or a prefix of it, on its own host names.',
  arguments: [{ name: 'target', summary: 'ALIAS/ID', kind: 'target' }],
  options: [
    { flags: '--bucket <bucket>', summary: 'the bucket to publish' },
    { flags: '--prefix <prefix>', summary: 'publish only keys below this prefix; ends in a slash' },
    { flags: '--alias <name>', summary: 'a name, or *.name; repeated', isRepeatable: true },
    { flags: '--mode <mode>', summary: 'the mode (default website)', choices: ['website', 's3'] },
    { flags: '--index <name>', summary: 'of a website: the index document (default index.html; empty for none)' },
    { flags: '--spa <path>', summary: 'of a website: the page that is served with 200 for missing keys' },
    { flags: '--dry-run', summary: 'check everything and store nothing' },
  ],
  typed: {
    'body/id': 'the ID',
    'body/aliases': '--alias',
    'body/origin/bucket': '--bucket',
    'body/origin/pathPrefix': '--prefix',
    'body/defaultBehavior/indexDocument': '--index',
    'body/defaultBehavior/spaFallback': '--spa',
  },
  examples: [
    'svcctl dist create home/site --bucket site --alias www.example.test',
    'svcctl dist create home/media --bucket media --alias media.example.test --mode s3',
  ],
  async run(context, [text], { bucket, prefix = '', alias = [], mode = 'website', index = 'index.html', spa, dryRun }) {
    if (bucket === undefined || alias.length === 0) throw usageError('--bucket and --alias are needed.')
    const place = await connectTo(context, text!)
    if ((await findDistribution(place)) !== undefined) {
      throw conflictError(`${text} is there already; \`svcctl dist set\` replaces it.`)
    }
    const website = {
      ...(index === '' ? {} : { indexDocument: index }),
      ...(spa === undefined ? {} : { spaFallback: spa }),
    }
    const document = {
      id: place.id,
      aliases: alias,
      origin: { bucket, pathPrefix: prefix },
      mode,
      ...(mode === 'website' ? { defaultBehavior: website } : {}),
    }
    const stored = await putDistribution(place, document, { dryRun })
    noteWarnings(context, stored)
    const status = dryRun ? 'valid' : 'created'
    context.output.done(
      { status, distribution: place.id, etag: stored.etag },
      `${text} is ${status}: ${alias.join(', ')}`,
    )
  },
})
