/**
 * Whichever limit refuses a request: the client is told when to come again, and operators find the limit in the metric, in the audit record
 * of the request, in its line of the live trace, and in its span.
 */
import { request } from 'node:http'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import { eventually } from 'svc/testing'
import t from 'tap'
import { startGrpcCollector } from '../../plugins/tracing/test/collector.ts'
import { createAdminClient } from './admin.ts'
import { region, startServer } from './server.ts'
import { type Answer, type Attempt, createSignedClient, root } from './signed-client.ts'
import { openStream } from './telling-places.ts'

t.setTimeout(300_000)
const collector = await startGrpcCollector(t)
const server = await startServer({
  environment: {
    SVC_WEB_ADDRESS: '127.0.0.1:0',
    SVC_TRUSTED_PROXIES: '127.0.0.1',
    SVC_PROMETHEUS_AUTH_TYPE: 'public',
    SVC_OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    SVC_OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
  },
})
t.teardown(() => server.remove())
const portOf = (address: unknown) => Number(String(address).split(':').at(-1))
const consolePort = portOf(server.startup.console)
const admin = createAdminClient(server)
const s3 = createSignedClient(server.port)
const console_ = createSignedClient(consolePort)
const web = createSignedClient(portOf(server.startup.web))
t.teardown(() => {
  for (const client of [s3, console_, web]) client.disconnect()
})
const { seen } = await openStream(t, server, '/trace')
const ada = { accessKey: 'ada', secret: 'secret-of-ada', region }
await admin.createUser('ada', { policyNames: ['consoleAdmin'] })
await s3.send({ method: 'PUT', path: '/photos' })
await s3.send({ method: 'PUT', path: '/photos/index.html', body: 'page' })

/** Limits of the Admin API hold for this client as well: it waits its turn. */
const set = (subsystem: string, settings: Record<string, string | null>) =>
  eventually(
    () => admin.call('PATCH', `/config/${subsystem}`, { settings }).catch((error: Error) => error),
    answer => !(answer instanceof Error) || !/: 429/.test(answer.message),
  )
const limit = (settings: Record<string, string | null>) => set('ratelimit', settings)
const publish = (more: object = {}) =>
  admin.call('PUT', '/distributions/site', {
    id: 'site',
    aliases: ['www.site.test'],
    origin: { bucket: 'photos' },
    ...more,
  })
let clients = 0
/** Of this request alone: nobody else comes from there. */
const nextClient = () => ({ 'x-forwarded-for': `198.51.100.${++clients}` })
const login = (accessKey: string, headers: Record<string, string>) =>
  console_.send({
    method: 'POST',
    path: '/api/v1/auth/login',
    signer: null,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ accessKey, secretKey: 'wrong-secret' }),
  })

/** Uploads that never end hold their place. */
async function holdPlace() {
  const path = '/photos/held'
  const host = `127.0.0.1:${server.port}`
  const head = { method: 'PUT', host, path, headers: { 'content-length': '10' }, payload: 'UNSIGNED-PAYLOAD' } as const
  const { headers } = signRequest(root, { ...head, nowMs: Date.now() })
  const sent = request({ host: '127.0.0.1', port: server.port, method: 'PUT', path, headers, agent: false })
  sent.on('error', () => {})
  sent.write('x')
  return () => sent.destroy()
}

interface Row {
  readonly api: 's3' | 'admin' | 'web'
  readonly kind: string
  /** Default: a limit on requests. */
  readonly what?: 'logins that fail' | 'wrong signatures'
  /** Resolves with the end of the limit. */
  begin(): Promise<() => Promise<unknown>>
  /** Asked again and again until it is refused. */
  ask(): Promise<Answer>
}

const bySettings = (name: string) => async () => {
  await limit({ [name]: '1', [`${name}_burst`]: '1' })
  return () => limit({ [name]: null, [`${name}_burst`]: null })
}
const byDistribution = (more: object) => async () => {
  await publish(more)
  return () => publish()
}
const byRestriction = (rateLimit: object) => byDistribution({ restrictions: { rateLimit } })
const nothing = async () => async () => undefined
const page: Attempt = { method: 'GET', path: '/index.html', signer: null }
const ip = nextClient()
const guesser = nextClient()
const guesserOfMany = nextClient()
const forger = nextClient()
const forgerAtSite = nextClient()
const forged = { ...ada, secret: 'wrong-secret' }
let guesses = 0

const signedForSite = () =>
  signRequest(forged, {
    method: 'GET',
    host: 'www.site.test',
    path: '/index.html',
    payload: 'UNSIGNED-PAYLOAD',
    nowMs: Date.now(),
  }).headers

const rows: readonly Row[] = [
  {
    api: 's3',
    kind: 'ip',
    begin: bySettings('s3_ip'),
    ask: () => s3.send({ method: 'GET', path: '/', signer: null, headers: ip }),
  },
  { api: 's3', kind: 'user', begin: bySettings('s3_access_key'), ask: () => s3.send({ method: 'GET', path: '/' }) },
  { api: 's3', kind: 'bucket', begin: bySettings('s3_bucket'), ask: () => s3.send({ method: 'GET', path: '/photos' }) },
  {
    api: 's3',
    kind: 'concurrency',
    async begin() {
      await set('api', { requests_max: '1', requests_deadline: '10ms' })
      const leave = await holdPlace()
      return () => {
        leave()
        return set('api', { requests_max: null, requests_deadline: null })
      }
    },
    ask: () => s3.send({ method: 'GET', path: '/photos' }),
  },
  {
    api: 'admin',
    kind: 'ip',
    begin: bySettings('admin_ip'),
    ask: () => console_.send({ method: 'GET', path: '/api/v1/info', headers: ip }),
  },
  {
    api: 'admin',
    kind: 'user',
    begin: bySettings('admin_user'),
    ask: () => console_.send({ method: 'GET', path: '/api/v1/info', signer: ada, headers: nextClient() }),
  },
  { api: 'admin', kind: 'user', what: 'logins that fail', begin: nothing, ask: () => login('ada', guesser) },
  {
    api: 'admin',
    kind: 'ip',
    what: 'logins that fail',
    begin: nothing,
    ask: () => login(`key-${++guesses}`, guesserOfMany),
  },
  {
    api: 's3',
    kind: 'user',
    what: 'wrong signatures',
    begin: nothing,
    ask: () => s3.send({ method: 'GET', path: '/photos', signer: forged, headers: forger }),
  },
  {
    api: 'web',
    kind: 'user',
    what: 'wrong signatures',
    begin: byDistribution({ defaultBehavior: { access: 'authenticated' } }),
    ask: () => web.send({ ...page, headers: { ...signedForSite(), ...forgerAtSite } }),
  },
  {
    api: 'web',
    kind: 'ip',
    begin: byRestriction({ requestsPerSecond: 1, burst: 1 }),
    ask: () => web.send({ ...page, headers: { host: 'www.site.test', ...ip } }),
  },
  {
    api: 'web',
    kind: 'distribution',
    begin: byRestriction({ requestsPerSecond: 1, burst: 1, per: 'distribution' }),
    ask: () => web.send({ ...page, headers: { host: 'www.site.test', ...nextClient() } }),
  },
]

const scrape = async (api: string, kind: string) => {
  const text = await (await fetch(`${server.endpoint}/svc/metrics/v1/node`)).text()
  const found = new RegExp(`^svc_ratelimit_throttled_total\\{api="${api}",kind="${kind}",[^}]*\\} (\\d+)$`, 'm').exec(
    text,
  )
  return Number(found?.[1] ?? 0)
}
const traced = () =>
  seen()
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice('data: '.length)))

/** Their spans come later. */
const refusals: {
  readonly what: string
  readonly requestId: string
  readonly kind: string
  readonly status: number
}[] = []

await publish()
for (const { api, kind, what = 'a limit on requests', begin, ask } of rows) {
  t.test(`${api}, ${kind}: ${what}`, async t => {
    const before = await scrape(api, kind)
    const end = await begin()
    // What is signed is S3, wherever it comes.
    const wanted = api === 's3' || (api === 'web' && what === 'wrong signatures') ? 503 : 429
    const refused = await eventually(ask, ({ status }) => status === wanted)
    await end()
    t.match(refused.headers['retry-after'], /^[1-9]\d*$/)
    if (api === 's3') t.equal(refused.code, 'SlowDown')
    if (api === 'admin') {
      t.match(refused.headers['content-type'], 'application/problem+json')
      t.match(JSON.parse(refused.body.toString()), { code: 'too_many_requests', status: 429 })
    }
    t.ok((await scrape(api, kind)) > before, 'the metric')
    const requestId = String(refused.headers[api === 'admin' ? 'x-request-id' : 'x-amz-request-id'])
    // Records are written when the connection is over: perhaps a little later.
    const { items } = await eventually(
      () => admin.call('GET', `/audit?requestId=${requestId}`),
      ({ items }) => items.length > 0,
    )
    t.match(items, [{ type: api, status: wanted, tags: { throttled: kind } }], 'the audit record')
    const line = await eventually(
      () => traced().find(each => each.requestId === requestId) ?? null,
      found => found !== null,
    )
    t.match(line, { type: api, status: wanted, throttled: kind }, 'the live trace')
    refusals.push({ what: `${api}, ${kind}, ${what}`, requestId, kind, status: wanted })
  })
}

// Together, because spans are sent every five seconds.
t.test('the span of each refusal', async t => {
  t.equal(refusals.length, rows.length)
  for (const { what, requestId, kind, status } of refusals) {
    const spanOf = () => collector.spans.find(({ attributes }) => attributes['svc.request_id'] === requestId)
    const span = await eventually(
      () => spanOf() ?? null,
      found => found !== null,
    )
    t.match(span, { attributes: { 'svc.throttled': kind, 'http.response.status_code': status } }, what)
  }
})

t.test('health, and scrapes of metrics, are never refused', async t => {
  await set('api', { requests_max: '1', requests_deadline: '10ms' })
  await limit({ s3_ip: '1', s3_ip_burst: '1', admin_ip: '1', admin_ip_burst: '1' })
  const leave = await holdPlace()
  const headers = nextClient()
  for (const path of ['live', 'ready', 'cluster'].map(name => `/svc/health/${name}`).concat('/svc/metrics/v1/node')) {
    for (let i = 0; i < 5; i++) {
      t.equal((await s3.send({ method: 'GET', path, signer: null, headers })).status, 200, path)
      if (path.startsWith('/svc/health'))
        t.equal((await console_.send({ method: 'GET', path, signer: null, headers })).status, 200, path)
    }
  }
  leave()
})
