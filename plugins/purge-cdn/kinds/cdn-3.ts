/** Akamai, Fast Purge API version 3: https://techdocs.akamai.com/purge-cache/reference/api */
import { type PurgeCall, type PurgeOperation, type PurgeWebhookKind, urlsOf } from 'svc/plugins/purge/api'
import { type Static, Type } from 'typebox'
import { impossible, post, scheme, secret, tagOf } from '../common.ts'
import { signEdgeGrid } from '../edge-grid.ts'

const Settings = Type.Object({
  url: Type.String({
    minLength: 1,
    maxLength: 512,
    destination: true,
    pattern: '^https?://[^/?#@]+/?$',
    errorMessage: 'must be https:// and a host, without a path',
    description: 'The host of the API credentials: `https://akab-….purge.akamaiapis.net`.',
  }),
  clientToken: secret('Client token of the API credentials.'),
  clientSecret: secret('Client secret of the API credentials.'),
  token: secret('Access token of the API credentials.'),
  cpCode: Type.Optional(
    Type.String({
      pattern: '^\\d{1,12}$',
      errorMessage: 'must be a number of at most 12 digits',
      description: 'Content provider code: needed for everything that is no single URL and no tag.',
    }),
  ),
  network: Type.Enum(['production', 'staging'], { default: 'production' }),
  scheme,
})
type Settings = Static<typeof Settings>

/** Maximum size of a request's body; the API accepts 50 000. */
const bodyBytesMax = 49_000

interface Call {
  readonly path: string
  readonly objects: readonly (string | number)[]
}

export function createCdn3(): PurgeWebhookKind<typeof Settings> {
  return {
    description: 'Akamai.',
    settings: Settings,
    validate({ url }, urlProblem) {
      const problem = urlProblem(url)
      return problem === undefined ? [] : [{ key: 'url', problem }]
    },
    limits: { perSecond: 50, burst: 100 },
    tagHeader: tags => ['Edge-Cache-Tag', tags.map(tagOf).join(',')],
    connect(settings, context) {
      const base = settings.url.replace(/\/$/, '')
      const { clientToken, clientSecret, token: accessToken } = settings
      return {
        plan: operations => planOf(operations, settings),
        async send({ data }, signal) {
          const { path, objects } = data as Call
          const [url, body] = [`${base}${path}`, JSON.stringify({ objects })]
          const nonce = context.random.bytes(16).toString('hex')
          const authorization = signEdgeGrid(
            { clientToken, clientSecret, accessToken },
            { method: 'POST', url, body, nowMs: context.clock.now(), nonce },
          )
          await post(context, { url, headers: { authorization, 'content-type': 'application/json' }, body }, signal)
        },
        async close() {},
      }
    },
  }
}

function planOf(operations: readonly PurgeOperation[], { scheme, network, cpCode }: Settings) {
  const calls: PurgeCall[] = []
  const widened: string[] = []
  for (const isSoft of [false, true]) {
    const own = operations.filter(operation => operation.isSoft === isSoft)
    const pathOf = (type: string) => `/ccu/v3/${isSoft ? 'invalidate' : 'delete'}/${type}/${network}`
    const urls = own.flatMap(each => (each.kind === 'url' ? urlsOf(each, scheme) : []))
    const tags = own.flatMap(each => (each.kind === 'tag' ? [tagOf(each.tag)] : []))
    const others = own.filter(({ kind }) => kind !== 'url' && kind !== 'tag')
    for (const { kind } of others)
      if (kind !== 'all') widened.push(`a ${kind} as everything of the content provider code`)
    if (others.length > 0) {
      const code: Call = { path: pathOf('cpcode'), objects: [Number(cpCode)] }
      const isPossible = cpCode !== undefined
      const problem = 'only URLs and tags can be purged: set cpCode for everything else'
      calls.push(isPossible ? { summary: 'everything', data: code } : impossible(problem))
      if (isPossible) continue
    }
    for (const objects of bySize(urls))
      calls.push({ summary: `${objects.length} URLs`, data: { path: pathOf('url'), objects } })
    for (const objects of bySize(tags))
      calls.push({ summary: `${objects.length} tags`, data: { path: pathOf('tag'), objects } })
  }
  return { calls, widened }
}

function bySize(items: readonly string[]): string[][] {
  const groups: string[][] = []
  let sizeBytes = Number.POSITIVE_INFINITY
  for (const item of items) {
    const itemBytes = Buffer.byteLength(JSON.stringify(item)) + 1
    if (sizeBytes + itemBytes > bodyBytesMax) {
      groups.push([])
      sizeBytes = 0
    }
    groups.at(-1)!.push(item)
    sizeBytes += itemBytes
  }
  return groups
}
