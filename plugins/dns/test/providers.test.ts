/** Providers over the Admin API: documents, secrets, what uses them, and the test against a real name server. */
import { globSync, readFileSync, statSync } from 'node:fs'
import { definePlugin } from 'svc/kernel'
import { responseProblems, startAdmin } from 'svc/plugins/admin/testing'
import 'svc/plugins/dns/api'
import { skipWithoutNamed, startNamed } from 'svc/plugins/dns/testing'
import type { Uses } from 'svc/plugins/store/api'
import t from 'tap'

const zone = 'example.test'
const secret = Buffer.alloc(32, 5).toString('base64')

const used = new Map<string, string[]>()
const user = definePlugin({
  name: 'test-user-of-dns',
  requires: ['dns'],
  setup({ contribute }) {
    const uses = (): Uses => ({
      byId: new Map([...used].map(([provider, names]) => [provider, names.map(name => ({ name }))])),
      fence() {},
    })
    contribute('dns.user', 'test', { uses })
  },
})

const named = skipWithoutNamed()
  ? undefined
  : await startNamed(t, {
      zones: { [zone]: ['_acme-challenge.alias IN CNAME proof.deep.example.test.'] },
      fixedZones: ['fixed.test'],
    })
const server = await startAdmin({
  plugins: [user],
  config: { dns: { nameservers: [named?.server ?? '127.0.0.1:9'] } },
})
t.teardown(server.stop)

async function call(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
  const answer = await server.signed({ method, path: `/api/v1/dns-providers${path}`, body, headers })
  if (answer.text.includes('s3cr3t') || answer.text.includes(secret)) throw new Error(`a secret is in ${answer.text}`)
  return answer
}

/** Each test begins without providers. */
t.beforeEach(async () => {
  const { json } = await call('GET', '')
  for (const { name } of json.items) await call('DELETE', `/${name}`)
})

const rfc2136 = (others: object = {}, credentials = secret) => ({
  type: 'rfc2136',
  rfc2136: { nameserver: '127.0.0.1:9', tsigKeyName: 'svc-key', ...others },
  credentials: { tsigSecret: credentials },
})

t.test('a provider is created, read, replaced and deleted', async t => {
  const created = await call('POST', '', {
    name: 'main',
    comment: 'ours',
    ttl: 30,
    pollingInterval: '500ms',
    ...rfc2136(),
  })
  t.match(created, { status: 201, headers: { location: '/api/v1/dns-providers/main' } })
  const { createdAt, updatedAt, etag, ...document } = created.json
  t.same(document, {
    name: 'main',
    type: 'rfc2136',
    comment: 'ours',
    rfc2136: { nameserver: '127.0.0.1:9', tsigKeyName: 'svc-key', transport: 'tcp', tsigAlgorithm: 'hmac-sha256' },
    ttl: 30,
    propagationTimeout: '2m',
    pollingInterval: '500ms',
    hasCredentials: true,
    usedBy: [],
  })
  t.equal(created.headers.etag, `"${etag}"`)
  t.ok(Date.parse(createdAt) <= Date.parse(updatedAt))
  const operation = server.operations.find(({ id }) => id === 'getDnsProvider')!
  const read = await call('GET', '/main')
  t.same(responseProblems(operation, read.json), [])
  t.same(read.json, created.json)
  t.match(await call('POST', '', { name: 'main', ...rfc2136() }), { status: 409, json: { code: 'already_exists' } })

  // The document that was read can be sent back: it has no secret, and keeps the stored one.
  const echoed = await call('PUT', '/main', { ...read.json, comment: 'changed' }, { 'if-match': `"${etag}"` })
  t.match(echoed, { status: 200, json: { comment: 'changed', hasCredentials: true, createdAt } })
  t.match(await call('PUT', '/main', read.json, { 'if-match': `"${etag}"` }), { status: 412 })
  t.match(await call('DELETE', '/main', undefined, { 'if-match': `"${etag}"` }), { status: 412 })
  t.match(await call('PUT', '/other', rfc2136()), { status: 201, json: { name: 'other' } })
  t.match(await call('PUT', '/third', rfc2136(), { 'if-match': '*' }), { status: 412 })
  const page = await call('GET', '?limit=1')
  t.match(page.json.items, [{ name: 'main' }])
  const next = await call('GET', `?limit=1&cursor=${page.json.nextCursor}`)
  t.match(next.json, { items: [{ name: 'other' }], nextCursor: '' })
  t.equal((await call('DELETE', '/main')).status, 204)
  t.match(await call('GET', '/main'), { status: 404, json: { code: 'dns_provider_not_found' } })
  t.match(await call('DELETE', '/main'), { status: 404 })
})

t.test('errors name the invalid field of a provider, and nothing is stored', async t => {
  const wrong: [body: object, field: string, words: RegExp][] = [
    [{ type: 'nobody' }, '/type', /type must be a kind of provider: .*rfc2136/],
    [{ ...rfc2136(), credentials: {} }, '/credentials/tsigSecret', /credentials\.tsigSecret is missing/],
    [{ ...rfc2136(), credentials: { tsigSecret: 's3cr3t!' } }, '/credentials/tsigSecret', /must be base64/],
    [
      { ...rfc2136(), credentials: { tsigSecret: secret, apiToken: '' } },
      '/credentials/apiToken',
      /is not a setting of rfc2136/,
    ],
    [rfc2136({ nameserver: '169.254.169.254' }), '/rfc2136/nameserver', /rfc2136\.nameserver must not be a link-local/],
    [rfc2136({ tsigAlgorithm: 'hmac-md5' }), '/rfc2136/tsigAlgorithm', /rfc2136\.tsigAlgorithm must/],
    [rfc2136({ zoneId: 'x' }), '/rfc2136/zoneId', /rfc2136\.zoneId is not a setting of rfc2136/],
    [
      { ...rfc2136(), cloudDns: { region: 'x' } },
      '/cloudDns',
      /cloudDns is no field of a provider of the type rfc2136; its block is rfc2136/,
    ],
    [{ ...rfc2136(), propagationTimeout: 'soon' }, '/propagationTimeout', /propagationTimeout is not a duration/],
    [{ ...rfc2136(), pollingInterval: '1ms' }, '/pollingInterval', /must be between 100ms and 1h/],
  ]
  for (const [body, field, words] of wrong) {
    const answer = await call('POST', '', { name: 'main', ...body })
    t.match(answer, { status: 400, json: { code: 'invalid_dns_provider' } }, answer.text)
    t.match(answer.json.detail, words)
    t.match(answer.text, field)
  }
  t.match(await call('POST', '', { name: 'UPPER', ...rfc2136() }), { status: 400, json: { code: 'invalid_argument' } })
  t.match(await call('POST', '', { name: 'main', ...rfc2136(), ttl: 0 }), { status: 400 })
  t.same((await call('GET', '')).json.items, [])
})

t.test('another type needs credentials of its own', async t => {
  t.equal((await call('PUT', '/main', rfc2136())).status, 201)
  const { credentials: _, ...bare } = rfc2136()
  t.match(await call('PUT', '/main', { ...bare, credentials: { tsigSecret: '' } }), {
    status: 200,
    json: { hasCredentials: true },
  })
  t.match(await call('PUT', '/main', { ...bare, type: 'other' }), { status: 400 })
})

t.test('a provider that is used is not deleted', async t => {
  await call('PUT', '/main', rfc2136())
  used.set('main', ['distribution/site'])
  t.match((await call('GET', '/main')).json, { usedBy: ['distribution/site'] })
  const refused = await call('DELETE', '/main')
  t.match(refused, { status: 409, json: { code: 'dns_provider_in_use' } })
  t.match(refused.json.detail, /used by distribution\/site/)
  used.clear()
  t.equal((await call('DELETE', '/main')).status, 204)
})

t.test('secrets are sealed at rest', async t => {
  await call('PUT', '/main', rfc2136())
  const [drive] = await server.kernel.services.storage.drives()
  const files = globSync(`${drive!.path}/**`).filter(path => statSync(path).isFile())
  t.ok(files.length > 0)
  const holds = (text: string) => files.some(path => readFileSync(path).includes(text))
  t.ok(holds('tsigKeyName'), 'the document is there')
  t.notOk(holds(secret))
  t.notOk(JSON.stringify(server.kernel.logs).includes(secret))
})

t.test('the test of a provider', { skip: skipWithoutNamed() }, async t => {
  const { server: nameserver, key, values } = named!
  const fast = { ttl: 1, pollingInterval: '100ms', propagationTimeout: '1s' }
  await call('PUT', '/main', { ...fast, ...rfc2136({ nameserver }, key.secret) })
  const test = async (domain: string, provider = 'main') => call('POST', `/${provider}/test`, { domain })

  for (const domain of ['www.example.test', '*.example.test', 'WWW.example.test.']) {
    const { json } = await test(domain)
    t.match(json, { ok: true, step: '', error: '' }, domain)
    t.equal(json.record, domain.startsWith('*') ? '_acme-challenge.example.test' : '_acme-challenge.www.example.test')
  }
  t.match(
    (await test('alias.example.test')).json,
    { ok: true, record: 'proof.deep.example.test' },
    'CNAMEs are followed',
  )
  t.same(await values('_acme-challenge.www.example.test'), [])
  t.match((await test('else.test')).json, { ok: false, step: 'present', error: /refuses to answer about .*else\.test/ })
  const fixed = (await test('fixed.test')).json
  t.match(fixed, { ok: false, step: 'present', error: /The server refuses the update \(REFUSED\)/ })
  await call('PUT', '/wrong', { ...fast, ...rfc2136({ nameserver }) })
  t.match((await test('www.example.test', 'wrong')).json, { ok: false, step: 'present', error: /BADSIG/ })
  for (const domain of ['a b', '127.0.0.1', 'localhost', 'x:53', '..', 'ex ample.test/']) {
    t.match(await test(domain), { status: 400, json: { code: 'invalid_argument' } }, domain)
  }
  t.match(await test('www.example.test', 'nobody'), { status: 404 })
  t.same(await server.kernel.services.dns.publications(), [], 'nothing is left')
  const metrics = await server.kernel.services.metrics.scrape()
  t.match(metrics, /svc_dns_changes_total\{[^}]*type="rfc2136",result="ok"[^}]*\} 8/)
  t.match(metrics, /svc_dns_changes_total\{[^}]*type="rfc2136",result="failed"[^}]*\} 2/)
})

t.test('rights and sessions', async t => {
  t.match(await server.anonymous({ path: '/api/v1/dns-providers' }), { status: 401 })
})
