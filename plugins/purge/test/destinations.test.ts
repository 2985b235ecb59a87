/** Where the secrets of a webhook may go, when the host of its URL is a placeholder. */
import { createFakeClock } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'
import type { PurgeOperation, PurgeWebhookKind, WebhookDocument } from '../api.ts'
import { domainsProblem } from '../destinations.ts'
import type { StoredWebhook, WebhookCollection } from '../documents.ts'
import { createKinds } from '../kinds.ts'
import { createLane } from '../lane.ts'
import { createWebhooks } from '../webhooks.ts'

const Settings = Type.Object({
  url: Type.String({ destination: true }),
  token: Type.Optional(Type.String({ secret: true })),
})
const kind: PurgeWebhookKind<typeof Settings> = {
  description: 'Of these tests.',
  settings: Settings,
  limits: { perSecond: 1000, burst: 1000 },
  connect: () => ({ plan: () => ({ calls: [], widened: [] }), send: async () => {}, close: async () => {} }),
}
const kinds = createKinds([{ id: 'own', value: kind }] as never)

t.test('the host of a URL is a placeholder', t => {
  const problem = (url: string, domains: readonly string[] = [], secrets: object = { token: 't' }) =>
    domainsProblem(kinds.require('own', ''), { id: 'a', type: 'own', domains, settings: { url }, secrets } as never)
  for (const url of [
    'https://{host}{path}',
    '{url}',
    '{url}?purge',
    '{scheme}://{host}:8080{path}',
    'https://purge.{host}/',
    'https://{host}.example.test/',
    'https:/{host}/',
    'https:\\\\{host}\\',
    'https://{tag}.example.test/',
    'https://10.0.0.7:{id}/',
  ]) {
    t.match(problem(url), /^must name the hosts .* because the host of url is a placeholder$/, url)
    t.match(problem(url, ['www.example.test', '*.example.test']), /without wildcards/, url)
    t.equal(problem(url, ['www.example.test']), undefined, url)
    t.equal(problem(url, [], {}), undefined, `${url} without secrets`)
  }
  for (const url of [
    'https://10.0.0.7{path}',
    'https://10.0.0.7{pattern}',
    '{scheme}://cdn.example.test/{host}{path}',
    'https://cdn.example.test/?url={url}',
    'https://{distribution}.example.test/',
    'no URL',
  ]) {
    t.equal(problem(url), undefined, url)
  }
  t.end()
})

t.test('domains of such a webhook are where its secrets go: changed with them alone', async t => {
  let stored: readonly StoredWebhook[] = []
  const collection = {
    get: async () => ({ value: { distributionCreatedMs: 1, webhooks: stored }, etag: '"1"' }),
  } as unknown as WebhookCollection
  const webhooks = createWebhooks({ collection, kinds: () => kinds, urlProblem: () => undefined })
  const site = { id: 'site', createdMs: 1, aliases: ['a.test', 'b.test', '*.w.test'] } as never
  const set = async (document: Partial<WebhookDocument>) => {
    const change = await webhooks.prepare(site, [{ id: 'edge', type: 'own', ...document }])
    change.apply({
      put: (_collection: unknown, _id: string, value: { webhooks: readonly StoredWebhook[] }) => {
        stored = value.webhooks
      },
    } as never)
  }
  const refused = (document: Partial<WebhookDocument>, field: string, message: RegExp) =>
    t.rejects(set(document), { code: 'invalid_cache_request', message, extra: { Field: `/webhooks/0/${field}` } })

  const open = { url: 'https://{host}{path}', token: 'first' }
  await refused(open, 'domains', /must name the hosts that the secrets may be sent to/)
  await refused({ ...open, domains: [] }, 'domains', /must name the hosts/)
  await refused({ ...open, domains: ['a.test', '*.w.test'] }, 'domains', /without wildcards/)
  await refused({ ...open, token: '${' + 'secret:own}' }, 'domains', /must name the hosts/)
  t.same(stored, [])
  await set({ ...open, domains: ['a.test', 'b.test'] })

  const kept = { ...open, token: '*REDACTED*' }
  await set({ ...kept, domains: ['b.test', 'a.test'] })
  t.match(stored, [{ secrets: { token: 'first' } }], 'the same domains keep it')
  for (const token of ['*REDACTED*', '', undefined]) {
    const domains = ['a.test']
    await refused({ ...open, token, domains }, 'token', /must be given again, because domains changes/)
  }
  await refused({ ...kept, domains: [] }, 'domains', /must name the hosts/)
  await set({ ...open, token: 'second', domains: ['a.test'] })
  t.match(stored, [{ domains: ['a.test'], secrets: { token: 'second' } }])

  await set({ url: 'https://cdn.test{path}', token: 'third', domains: ['a.test'] })
  await set({ url: 'https://cdn.test{path}', token: '*REDACTED*', domains: ['b.test'] })
  t.match(
    stored,
    [{ domains: ['b.test'], secrets: { token: 'third' } }],
    'with a host of its own they are no destination',
  )
  stored = []
  await set({ url: 'https://{host}{path}' })
  t.match(stored, [{ domains: [], secrets: {} }], 'without secrets all aliases are told')
})

/** A lane over a queue in memory. */
function openLane(domains: readonly string[], held?: string) {
  const sent: (PurgeOperation | readonly string[])[] = []
  const lane = createLane({
    ...{ name: 'own:site/edge', held, limits: kind.limits, domains, lastStatus: () => 200 },
    webhook: {
      plan: (operations, { hosts }) => ({
        calls: [hosts, ...operations].map(data => ({ summary: '', data })),
        widened: [],
      }),
      async send({ data }) {
        sent.push(data as PurgeOperation)
      },
      async close() {},
    },
    distribution: async () => ({ id: 'site', aliases: ['other.test'] }) as never,
    naming: async () => () => true,
    topic: { status: async () => ({ pending: 0 }), deliver: () => ({ stop: async () => {} }) } as never,
    clock: createFakeClock(),
    log: { warn() {} } as never,
    count() {},
  })
  t.teardown(() => lane.stop())
  return { lane, sent }
}
const url = (host: string): PurgeOperation => ({ kind: 'url', host, path: '/', isSoft: false })
const never = new AbortController().signal

t.test('a webhook that is held sends nothing, and says why before it is asked to', async t => {
  const { lane, sent } = openLane([], 'Set domains.')
  t.match(lane.state(), { isOnline: false, lastError: 'Set domains.' })
  await t.rejects(lane.sendNow([url('other.test')], never), { message: 'Set domains.' })
  t.match(lane.state(), { isOnline: false, lastError: 'Set domains.' })
  t.same(sent, [])
})

t.test('nothing is for another host than those of domains, whatever the aliases are', async t => {
  const { lane, sent } = openLane(['a.test'])
  await t.rejects(lane.sendNow([url('a.test'), url('other.test')], never), { message: /have changed: try again/ })
  t.same(sent, [])
  await lane.sendNow([url('a.test')], never)
  t.same(sent, [['a.test'], url('a.test')])
})
