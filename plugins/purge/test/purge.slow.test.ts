/** Webhooks end to end: documents, the queue of each, what is given up and made good, addresses, and the operations of the Admin API. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { definePlugin } from 'svc/kernel'
import { startAdmin, userSecret } from 'svc/plugins/admin/testing'
import type { Invalidation } from 'svc/plugins/cache/api'
import { type ReceivedRequest, type Receiver, startReceiver } from 'svc/plugins/http-client/testing'
import type { WebhookDocument } from 'svc/plugins/purge/api'
import { createSystemPorts, eventually } from 'svc/testing'
import t from 'tap'

const token = 'tok3n-of-the-zone'
let aheadMs = 0
const system = createSystemPorts()
const clock = { ...system.clock, now: () => system.clock.now() + aheadMs }

/** Stands for the cache: an object of the bucket `pages` is a path of `site`. */
const tellsChanges = definePlugin({
  name: 'tells-changes',
  requires: ['purge', 'objects'],
  setup({ services: { purge }, contribute }) {
    contribute('object.observer', 'tells-changes', {
      wants: bucket => bucket === 'pages' && purge.wants('site'),
      observe: (tx, { key }) => purge.changed(tx, invalidation({ items: [`/${key}`] })),
    })
    return {}
  },
})

const invalidation = (changes: Partial<Invalidation>): Invalidation => ({
  id: '',
  distribution: 'site',
  kind: 'path',
  items: [],
  isCaseInsensitive: false,
  isSoft: false,
  ...changes,
})

const folder = mkdtempSync(join(tmpdir(), 'svc-purge-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const receiver: Receiver = await startReceiver(t)
const start = () =>
  startAdmin({
    ports: { clock },
    plugins: [tellsChanges],
    config: {
      storage: { endpoints: [folder] },
      purge: { webhookAllow: ['127.0.0.0/8'] },
      'purge-cdn': { cdn1Url: `http://127.0.0.1:${receiver.port}` },
    },
  })
let server = await start()
t.teardown(() => server.stop())
await server.s3.send(new CreateBucketCommand({ Bucket: 'pages' }))
const call = (method: string, path: string, body?: object) =>
  server.signed({ method, path: `/api/v1${path}`, ...(body && { body }) })
await call('POST', '/distributions', {
  id: 'site',
  aliases: ['www.example.test', 'example.test'],
  origin: { bucket: 'pages' },
  defaultBehavior: { access: 'public', indexDocument: 'index.html' },
})

const edge: WebhookDocument = { id: 'edge', type: 'cdn_1', zone: '0a1b', token }
const siteOf = async () => (await server.kernel.services.distributions.get('site'))!
async function set(...webhooks: readonly WebhookDocument[]): Promise<void> {
  const { purge, store } = server.kernel.services
  await store.transaction((await purge.prepare(await siteOf(), webhooks)).apply)
}
const purge = (changes: Partial<Invalidation>) => server.kernel.services.purge.requested(invalidation(changes))
const statusOf = async (id = 'edge') => {
  const { json } = await call('GET', '/distributions/site/cache/webhooks')
  return json.items.find((item: { id: string }) => item.id === id)
}
const success = (_request: ReceivedRequest, response: Parameters<Receiver['answer']>[1]) =>
  void response.writeHead(200).end('{"success":true}')
const refuse =
  (status: number, headers: Record<string, string> = {}): Receiver['answer'] =>
  (_request, response) =>
    void response.writeHead(status, headers).end('{}')
receiver.answer = success
/** Bodies of the requests since the last call. */
let readTo = 0
const bodies = () => {
  const found = receiver.requests.slice(readTo).map(({ body }) => JSON.parse(body))
  readTo = receiver.requests.length
  return found
}
const idle = () =>
  eventually(
    () => statusOf(),
    status => status.queued === 0 && !status.owesAll,
  )

t.test('documents are checked, and secrets are never read', async t => {
  const refused = (webhook: object, reason: RegExp) =>
    t.rejects(set({ ...edge, ...webhook } as never), { message: reason })
  await refused({ id: 'Edge' }, /\/webhooks\/0\/id must be lower-case/)
  await refused({ type: 'cdn_9' }, /must be a kind of webhook: cdn_1, cdn_2, cdn_3, cdn_4, cdn_5, generic/)
  await refused({ zone: 'a/b' }, /\/webhooks\/0\/zone/)
  await refused({ zone: undefined }, /\/webhooks\/0\/zone is missing: cdn_1 needs it/)
  await refused({ color: 'red' }, /\/webhooks\/0\/color is no field of cdn_1/)
  await refused({ token: '*REDACTED*' }, /\/webhooks\/0\/token is missing/)
  await refused({ domains: ['other.test'] }, /which is no alias of the distribution/)
  await t.rejects(set(edge, edge), { message: /\/webhooks\/1\/id is that of another/ })
  await set(edge)
  const { purge: service } = server.kernel.services
  const [read] = await service.webhooks(await siteOf())
  t.same(read, { id: 'edge', type: 'cdn_1', domains: [], zone: '0a1b', scheme: 'https', token: '*REDACTED*' })
  // As it was read.
  await set({ ...read!, zone: '0a1b' })
  t.notMatch(JSON.stringify(await call('GET', '/distributions/site/cache/webhooks')), token)
})

t.test('addresses: public ones by TLS, others only where they are allowed', async t => {
  const generic = (url: string): WebhookDocument => ({
    id: 'own',
    type: 'generic',
    url,
    clientSecret: 's3cret-of-the-receiver',
  })
  for (const [url, reason] of [
    ['https://169.254.169.254/latest', /must not be/],
    ['https://10.0.0.1/purge', /must not be/],
    ['https://[::1]/purge', /must not be/],
    ['http://192.0.2.7/purge', /must not be|https:/],
    ['http://93.184.216.34/purge', /must begin with https:\/\//],
    ['https://user:pw@a.test/', /must have no user/],
  ] as const) {
    await t.rejects(set(generic(url)), { message: reason }, url)
  }
  await set(generic(`http://127.0.0.1:${receiver.port}/own`))
  const kept = generic(`http://127.0.0.1:${receiver.port}/other`)
  await t.rejects(set({ ...kept, clientSecret: '*REDACTED*' }), {
    message: /clientSecret must be given again, because url changes/,
  })
  // A name that leads inside is found out at the connection.
  await set(generic('https://localhost:1/purge'))
  const { json } = await call('POST', '/distributions/site/cache/webhooks/own/test')
  t.match(json, { webhook: 'own', delivered: false, status: 0, error: /./ })
  await set(edge)
})

t.test(
  'a webhook that was stored without the hosts that its secret may go to sends nothing, and says what to do',
  async t => {
    const { purge: service, store } = server.kernel.services
    const open: WebhookDocument = {
      id: 'open',
      type: 'generic',
      url: `http://{host}:${receiver.port}{path}`,
      method: 'PURGE',
      headers: { authorization: 'Bearer {token}' },
      token,
    }
    await t.rejects(set(open), {
      message: /\/webhooks\/0\/domains must name the hosts that the secrets may be sent to/,
    })
    const change = await service.prepare(await siteOf(), [{ ...open, domains: ['example.test'] }])
    // As servers stored it before they asked for domains.
    await store.transaction(tx =>
      change.apply({
        ...tx,
        put: ((collection: never, id: never, value: { webhooks: object[] }, condition: never) =>
          tx.put(
            collection,
            id,
            { ...value, webhooks: value.webhooks.map(webhook => ({ ...webhook, domains: [] })) } as never,
            condition,
          )) as never,
      }),
    )
    const said = /^domains must name the hosts .* Set domains, and give the secrets again\.$/
    const held = await eventually(
      () => statusOf('open'),
      status => status?.lastError !== '',
    )
    t.match(held, { online: false, lastError: said, domains: [] })
    const { json } = await call('POST', '/distributions/site/cache/webhooks/open/test')
    t.match(json, { delivered: false, status: 0, error: said })
    await purge({ items: ['/a.html'] })
    const waiting = await eventually(
      () => statusOf('open'),
      status => status.queued > 0,
    )
    t.match(waiting, { lastError: said })
    await t.rejects(set({ ...open, token: '*REDACTED*', domains: ['example.test'] }), {
      message: /\/webhooks\/0\/token must be given again, because domains changes/,
    })
    await set({ ...open, domains: ['example.test'] })
    // It is asked now; no server has this name.
    const asked = await eventually(
      () => statusOf('open'),
      ({ lastError }) => lastError !== '' && !said.test(lastError),
    )
    t.match(asked.lastError, /example\.test/)
    await set(edge)
  },
)

t.test('one invalidation is a call for the URLs of each alias, its index document also as its folder', async t => {
  bodies()
  await purge({ items: ['/docs/index.html'] })
  await idle()
  const [body, ...others] = bodies()
  t.same(others, [])
  t.same([...body.files].sort(), [
    'https://example.test/docs/',
    'https://example.test/docs/index.html',
    'https://www.example.test/docs/',
    'https://www.example.test/docs/index.html',
  ])
  t.match(receiver.requests.at(-1), {
    path: '/client/v4/zones/0a1b/purge_cache',
    headers: { authorization: `Bearer ${token}` },
  })
})

t.test('a written object is told of by the commit of its change', async t => {
  bodies()
  await server.s3.send(new PutObjectCommand({ Bucket: 'pages', Key: 'a/news.html', Body: 'new' }))
  await idle()
  t.match(bodies()[0], { files: ['https://www.example.test/a/news.html', 'https://example.test/a/news.html'] })
})

t.test('what comes while a call is under way is gathered, and what others cover is not sent', async t => {
  bodies()
  let answer: (() => void) | undefined
  receiver.answer = (request, response) => {
    answer = () => success(request, response)
  }
  await purge({ items: ['/first'] })
  await eventually(
    () => answer,
    each => each !== undefined,
  )
  for (let index = 0; index < 40; index++) await purge({ items: [`/p/${index}`, '/again'] })
  await purge({ kind: 'prefix', items: ['/p/'] })
  receiver.answer = success
  answer!()
  await idle()
  const [, ...rest] = bodies()
  t.same(rest, [
    { files: ['https://www.example.test/again', 'https://example.test/again'] },
    { prefixes: ['www.example.test/p/', 'example.test/p/'] },
  ])
})

t.test('a network that is away is asked again; Retry-After is kept', async t => {
  bodies()
  receiver.answer = refuse(503)
  await purge({ items: ['/later'] })
  const failing = await eventually(
    () => statusOf(),
    ({ online }) => online === false,
  )
  t.match(failing, { queued: 1, lastError: /127\.0\.0\.1:\d+ answers 503/, failedTotal: 0 })
  receiver.answer = refuse(429, { 'retry-after': '2' })
  await eventually(
    () => statusOf(),
    ({ lastError }) => /429/.test(lastError),
  )
  const refusedMs = performance.now()
  receiver.answer = success
  await idle()
  t.ok(performance.now() - refusedMs > 1200, 'not before it was asked for')
  t.match(await statusOf(), { online: true, lastError: '', lastSuccessAt: /Z$/, owesAll: false })
})

t.test('the queue survives a restart', async t => {
  receiver.answer = refuse(500)
  await purge({ items: ['/kept'] })
  await eventually(
    () => statusOf(),
    ({ online }) => online === false,
  )
  await server.stop()
  bodies()
  receiver.answer = success
  server = await start()
  await idle()
  t.same(bodies(), [{ files: ['https://www.example.test/kept', 'https://example.test/kept'] }])
})

t.test('what is given up is made good by a purge of everything, also after a restart', async t => {
  receiver.answer = refuse(403)
  await purge({ items: ['/lost'] })
  const given = await eventually(
    () => statusOf(),
    ({ owesAll }) => owesAll,
  )
  t.match(given, { failedTotal: 1, lastError: /403: the credentials are wrong/ })
  t.notMatch(given.lastError, token)
  await server.stop()
  bodies()
  server = await start()
  await eventually(
    () => receiver.requests.length - readTo,
    count => count > 0,
  )
  t.match(bodies()[0], { purge_everything: true }, 'tried again at the start')
  t.match(await statusOf(), { owesAll: true })
  receiver.answer = success
  await set({ ...edge, token: 'another-token-of-it' })
  await idle()
  t.match(receiver.requests.at(-1), {
    body: '{"purge_everything":true}',
    headers: { authorization: 'Bearer another-token-of-it' },
  })
  await set(edge)
})

t.test('a purge that the settings do not allow repeats and delays no other, and is made good when they do', async t => {
  const network: WebhookDocument = {
    ...{ id: 'network', type: 'cdn_3', url: `http://127.0.0.1:${receiver.port}` },
    ...{ clientToken: 'client-token', clientSecret: 'client-secret', token: 'access-token' },
  }
  await set(network)
  receiver.answer = (_request, response) => void response.writeHead(201).end('{"success":true}')
  bodies()
  await purge({ kind: 'glob', items: ['/img/**'] })
  const given = await eventually(
    () => statusOf('network'),
    ({ queued, owesAll }) => queued === 0 && owesAll,
  )
  t.match(given, { failedTotal: 1, lastError: /set cpCode/ })
  for (const item of ['/1', '/2', '/3']) {
    await purge({ items: [item] })
    await eventually(
      () => statusOf('network'),
      ({ queued }) => queued === 0,
    )
  }
  const objects = (path: string) => ({ objects: [`https://www.example.test${path}`, `https://example.test${path}`] })
  t.same(bodies(), [objects('/1'), objects('/2'), objects('/3')])
  t.match(await statusOf('network'), {
    ...{ online: true, owesAll: true, deliveredTotal: 3, failedTotal: 1, lastError: /set cpCode/ },
  })
  const { metrics } = server.kernel.services
  t.match(await metrics.scrape(), /svc_queue_pending\{family="purge",kind="owed".*\} 1/)
  await set({ ...network, cpCode: '12345' })
  await eventually(
    () => statusOf('network'),
    ({ owesAll }) => !owesAll,
  )
  t.same(bodies(), [{ objects: [12345] }])
  t.match(await statusOf('network'), { online: true, lastError: '' })
  receiver.answer = success
  await set(edge)
})

t.test('entries of more than a day are given up', async t => {
  receiver.answer = refuse(500)
  await purge({ items: ['/old'] })
  await eventually(
    () => statusOf(),
    ({ online }) => online === false,
  )
  aheadMs += 25 * 3_600_000
  bodies()
  receiver.answer = success
  await eventually(
    () => statusOf(),
    ({ queued, owesAll }) => queued === 0 && !owesAll,
  )
  t.same(bodies(), [{ purge_everything: true }])
  aheadMs = 0
})

t.test('what a network cannot express is widened, and the status says so', async t => {
  bodies()
  await purge({ kind: 'regex', items: ['^/img/.*[.]png$'] })
  await idle()
  t.same(bodies(), [{ prefixes: ['www.example.test/img/', 'example.test/img/'] }])
  t.match(await statusOf(), { lastWidened: /the regex \^\/img\/\.\*\[\.\]png\$ as www\.example\.test\/img\/\*/ })
  await purge({ kind: 'tag', items: ['home'] })
  await purge({ kind: 'domain', items: ['www.example.test', 'foreign.test'] })
  await purge({ kind: 'all' })
  await idle()
  t.match(bodies().at(-1), { purge_everything: true })
})

t.test('the test purges one URL now', async t => {
  bodies()
  const path = '/distributions/site/cache/webhooks/edge/test'
  t.match((await call('POST', path)).json, { webhook: 'edge', delivered: true, status: 200, error: '' })
  t.match((await call('POST', path, { url: 'https://example.test/a' })).json, { delivered: true })
  t.same(bodies(), [{ files: ['https://www.example.test/'] }, { files: ['https://example.test/a'] }])
  receiver.answer = (_request, response) => void response.writeHead(201).end('{"success":true}')
  t.match((await call('POST', path)).json, { delivered: true, status: 201 })
  receiver.answer = refuse(404)
  t.match((await call('POST', path)).json, { delivered: false, status: 404, error: /answers 404/ })
  receiver.answer = success
  t.match(await call('POST', path, { url: 'https://foreign.test/a' }), {
    status: 400,
    json: { code: 'invalid_cache_request' },
  })
  t.match(await call('POST', '/distributions/site/cache/webhooks/none/test'), {
    status: 404,
    json: { code: 'webhook_not_found' },
  })
  t.match(await call('GET', '/distributions/none/cache/webhooks'), {
    status: 404,
    json: { code: 'distribution_not_found' },
  })
  await server.kernel.services.users.createUser({ accessKey: 'nobody', secretKey: userSecret })
  const denied = await server.signedBy('nobody', userSecret)({ path: '/api/v1/distributions/site/cache/webhooks' })
  t.equal(denied.status, 403)
})

t.test('calls are counted, and tags of answers are named as the network reads them', async t => {
  const { metrics, purge: service } = server.kernel.services
  t.match(await metrics.scrape(), /svc_cache_webhook_calls_total\{type="cdn_1",result="success".*\} [1-9]/)
  t.same(await service.tagHeaders(await siteOf(), ['a', 'b']), [['Cache-Tag', 'a,b']])
})

t.test('a distribution that is deleted takes its webhooks and their queues with it', async t => {
  receiver.answer = refuse(500)
  await purge({ items: ['/never'] })
  await eventually(
    () => statusOf(),
    ({ online }) => online === false,
  )
  await call('DELETE', '/distributions/site')
  t.equal((await call('GET', '/distributions/site/cache/webhooks')).status, 404)
  await call('POST', '/distributions', { id: 'site', aliases: ['new.test'], origin: { bucket: 'pages' } })
  t.same(
    (await call('GET', '/distributions/site/cache/webhooks')).json.items,
    [],
    'a new one of the same id begins without',
  )
  await set({ id: 'other', type: 'cdn_1', zone: 'ffff', token })
  t.match(await statusOf('other'), { queued: 0, domains: [] })
})
