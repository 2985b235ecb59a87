import { waitForJob } from '../admin/waiting.ts'
import { defineCommand, parsePair, parsePositive } from '../command.ts'
import { connectTo } from '../distributions/document.ts'
import { failure } from '../errors.ts'
import { encodeName } from '../s3/client.ts'
import { inTypedWords, withTypedPatterns } from '../typed-words.ts'

interface Options {
  readonly path?: readonly string[]
  readonly prefix?: readonly string[]
  readonly glob?: readonly string[]
  readonly sitemap?: string
  readonly domain?: readonly string[]
  readonly header?: readonly (readonly [string, string])[]
  readonly max?: number
  readonly concurrency?: number
  readonly wait?: boolean
}

interface Warmup {
  readonly id: string
  readonly state: string
  readonly total: number
  readonly fetched: number
  readonly hits: number
  readonly skipped: number
  readonly failed: number
  readonly errors: readonly { readonly url: string; readonly status: number; readonly message: string }[]
}

const words = new Map([
  ['body/paths', '--path'],
  ['body/sitemap', '--sitemap'],
  ['body/domains', '--domain'],
  ['body/headers', '--header'],
  ['body/concurrency', '--concurrency'],
  ['body/maxObjects', '--max'],
])
const shownErrorsMax = 10

const lineOf = ({ total, fetched, hits, skipped, failed }: Warmup): string =>
  `${fetched + hits + skipped + failed} of ${total}: ${fetched} fetched, ${hits} in the cache already, ${skipped} skipped, ${failed} failed`

export default defineCommand<Options>({
  name: 'cache warm',
  summary: 'Fetches pages of a distribution into the cache before anybody asks for them.',
  description:
    'At every name of the distribution that is no wildcard, or those of --domain. Pages that not everybody may see are skipped. With --wait a page that failed is a failure of the command. Needs admin:InvalidateCache.',
  arguments: [{ name: 'target', summary: 'ALIAS/ID', kind: 'target' }],
  options: [
    { flags: '--path <path>', summary: 'a path; again for more', isRepeatable: true },
    { flags: '--prefix <prefix>', summary: 'of the paths of objects', isRepeatable: true },
    { flags: '--glob <glob>', summary: 'of the paths of objects: * without slashes, ** with them', isRepeatable: true },
    { flags: '--sitemap <path>', summary: 'an XML sitemap in the distribution' },
    { flags: '--domain <host>', summary: 'only here; again for more', isRepeatable: true },
    { flags: '--header <name:value>', summary: 'of the requests; repeated', parse: parsePair(':'), isRepeatable: true },
    { flags: '--max <count>', summary: 'so many pages at most (default 1000)', parse: parsePositive },
    { flags: '--concurrency <count>', summary: 'so many at once (default 4)', parse: parsePositive },
    { flags: '--wait', summary: 'until it has ended, with its progress' },
  ],
  examples: [
    'svcctl cache warm home/site --path / --path /docs/ --wait',
    'svcctl cache warm home/site --sitemap /sitemap.xml',
  ],
  async run(context, [text], options) {
    const { path, prefix = [], glob = [], sitemap, domain, header, max, concurrency, wait = false } = options
    const { client, id } = await connectTo(context, text!)
    const patterns = Object.entries({ prefix, glob }).flatMap(([type, list]) =>
      list.map(pattern => ({ type, pattern })),
    )
    const body = {
      ...{ paths: path, sitemap, domains: domain, maxObjects: max, concurrency },
      ...(patterns.length > 0 && { patterns }),
      ...(header !== undefined && { headers: Object.fromEntries(header) }),
    }
    const base = `/distributions/${encodeName(id)}/cache/warmups`
    const started = await client.send({ operation: 'createWarmup', method: 'POST', path: base, body }).catch(error => {
      throw inTypedWords(withTypedPatterns(error, patterns), words)
    })
    const job = started.body as Warmup
    if (!wait) {
      context.output.done({ ...job }, `Started (${job.id}).`)
      return
    }
    const ended = (await waitForJob(
      context,
      client,
      { ...job },
      {
        again: ({ id: warmup }) => ({ operation: 'getWarmup', method: 'GET', path: `${base}/${warmup}` }),
        isEnded: ({ state }) => state !== 'in-progress',
        lineOf: facts => lineOf(facts as unknown as Warmup),
        failureOf: () => undefined,
      },
    )) as unknown as Warmup
    for (const { url, status, message } of ended.errors.slice(0, shownErrorsMax)) {
      context.output.note(`${url}: ${status === 0 ? '' : `${status}, `}${message}`)
    }
    if (ended.state !== 'completed')
      throw failure('warmup_failed', `The warm-up ${ended.id} has ${ended.state}: ${lineOf(ended)}.`)
    if (ended.failed > 0) throw failure('warmup_failed', `Not all pages were warmed: ${lineOf(ended)}.`)
    context.output.done({ ...ended }, `Warmed: ${lineOf(ended)}.`)
  },
})
