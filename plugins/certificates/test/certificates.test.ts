/** Certificates over the Admin API, and what others can do with them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin } from 'svc/kernel'
import { responseProblems, startAdmin, userSecret } from 'svc/plugins/admin/testing'
import type { StoreService } from 'svc/plugins/store/api'
import { createSystemPorts } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'
import '../api.ts'
import { createTestAuthority, tracesOf } from '../testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-certificates-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const authority = createTestAuthority(folder)
const dayMs = 86_400_000

/** Stands for distributions: what it uses is in this map, and a document changes with it. */
const uses = new Map<string, string[]>()
const declareSites = (store: StoreService) =>
  store.collection({ name: 'site', version: 1, schema: Type.Object({ change: Type.Integer() }) })
const shared: { sites?: ReturnType<typeof declareSites>; beforeFence?: () => Promise<unknown> } = {}
const user = definePlugin({
  name: 'certificate-user',
  requires: ['certificates', 'store'],
  setup({ contribute, services }) {
    const sites = declareSites(services.store)
    shared.sites = sites
    contribute('certificate.user', 'test', {
      async uses() {
        const seen = await sites.get('site')
        const byId = new Map([...uses].map(([id, domains]) => [id, [{ name: 'site', domains }]]))
        await shared.beforeFence?.()
        const condition = seen === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: seen.etag }
        return { byId, fence: tx => tx.require(sites, 'site', condition) }
      },
      names: async () => ['a.x.test', '*.x.test'].map(domain => ({ domain, name: 'site' })),
      preferred: name => [...uses].find(([, domains]) => domains.includes(name))?.[0],
    })
    stores.push(services.store)
  },
})
const stores: StoreService[] = []

/** Runs ahead of the system's by this: certificates are then valid already, and days go by in no time. */
let aheadMs = 3_600_000
const system = createSystemPorts().clock
const clock = { ...system, now: () => system.now() + aheadMs }
const admin = await startAdmin({
  ports: { clock },
  // Its attempts would change the documents of orders between two lines of a test.
  without: ['acme'],
  plugins: [user],
})
t.teardown(admin.stop)
const { certificates } = admin.kernel.services

const call = async (method: string, path: string, body?: object, as = admin.signed) => {
  const answer = await as({ method, path: `/api/v1${path}`, body })
  const operation = admin.operations.find(
    each =>
      each.method === method &&
      new RegExp(`^${each.path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(path.split('?')[0]!),
  )
  if (answer.status < 300) t.same(responseProblems(operation!, answer.json), [], `${method} ${path}`)
  return answer
}
const uploadOf = (id: string | undefined, { chain, key }: { chain: string; key: string }, comment = '') => ({
  ...(id && { id }),
  certificate: chain,
  privateKey: key,
  comment,
})
const find = async (name: string) => {
  for (const { value } of admin.kernel.point('tls.source').list()) {
    const found = await value.find(name)
    if (found !== undefined) return { first: found.certificate.slice(0, 200), isExpired: found.isExpired }
  }
  return undefined
}
const firstOf = ({ chain }: { chain: string }) => ({ first: chain.slice(0, 200) })

t.test('uploaded, listed, replaced, deleted; the key is never shown', async t => {
  const one = authority.issue(['www.a.test', 'a.test'], { key: ['-newkey', 'rsa:2048'] })
  const created = await call('POST', '/certificates', uploadOf('a', one, 'by hand'))
  t.equal(created.status, 201)
  t.equal(created.headers.location, '/api/v1/certificates/a')
  t.match(created.json, {
    id: 'a',
    source: 'upload',
    comment: 'by hand',
    domains: ['www.a.test', 'a.test'],
    state: 'valid',
    subject: 'CN=www.a.test',
    issuer: 'CN=test intermediate',
    serial: /^[0-9a-f]+$/,
    keyType: 'rsa-2048',
    fingerprint: /^[0-9a-f]{64}$/,
    usedBy: [],
  })
  t.equal((await call('POST', '/certificates', uploadOf('a', one))).json.code, 'already_exists')
  const bad = await call('POST', '/certificates', uploadOf('b', { ...one, key: 'x' }))
  t.match(bad, { status: 400, json: { code: 'invalid_certificate', detail: /no unencrypted key/ } })
  t.equal((await call('GET', '/certificates/b')).json.code, 'certificate_not_found', 'nothing was stored')
  t.equal((await call('POST', '/certificates', uploadOf('No', one))).json.code, 'invalid_argument')

  const read = await call('GET', '/certificates/a')
  const two = authority.issue(['a.test'])
  const replaced = await call('PUT', '/certificates/a', { ...read.json, ...uploadOf(undefined, two) })
  t.match(replaced, {
    status: 200,
    json: { domains: ['a.test'], keyType: 'ecdsa-p256', createdAt: read.json.createdAt },
  })
  t.match(await find('a.test'), firstOf(two))
  t.equal((await call('PUT', '/certificates/nothing', uploadOf(undefined, two))).json.code, 'certificate_not_found')
  for (const text of [created.text, read.text, replaced.text]) {
    for (const { key } of [one, two]) for (const trace of tracesOf(key)) t.notOk(Buffer.from(text).includes(trace))
  }
  t.equal((await call('POST', '/certificates/a/renew')).json.code, 'conflict', 'an upload cannot be renewed')
  t.equal((await call('DELETE', '/certificates/a')).status, 204)
  t.equal(await find('a.test'), undefined)
  t.equal((await call('DELETE', '/certificates/a')).json.code, 'certificate_not_found')
})

t.test('a chain without its issuers is taken with a warning', async t => {
  const { leaf, chain, key } = authority.issue(['alone.test'])
  const alone = await call('POST', '/certificates', uploadOf('alone', { chain: leaf, key }))
  t.match(alone, { status: 201, json: { warnings: [/leaf alone.*\(CN=test intermediate\)/] } })
  const whole = await call('PUT', '/certificates/alone', { ...alone.json, ...uploadOf(undefined, { chain, key }) })
  t.match(whole, { status: 200, json: { warnings: undefined } })
  t.match((await call('PUT', '/certificates/alone', uploadOf(undefined, { chain: leaf, key }))).json.warnings, [
    /leaf alone/,
  ])
  await call('DELETE', '/certificates/alone')
})

t.test('lists: by name and by state, in pages', async t => {
  const names = ['one', 'two', 'three']
  for (const id of names) await call('POST', '/certificates', uploadOf(id, authority.issue([`${id}.l.test`])))
  await call('POST', '/certificates', uploadOf('wild', authority.issue(['*.l.test'], { days: 100 })))
  const ids = async (query: string) =>
    (await call('GET', `/certificates?${query}`)).json.items.map(({ id }: { id: string }) => id)
  t.same(await ids(''), ['one', 'three', 'two', 'wild'])
  t.same(await ids('domain=TWO.l.test'), ['two', 'wild'])
  t.same(await ids('state=valid'), ['one', 'three', 'two', 'wild'])
  t.same(await ids('state=expired'), [])
  const page = (await call('GET', '/certificates?limit=3')).json
  t.same(await ids(`cursor=${page.nextCursor}`), ['wild'])
  aheadMs += 8 * dayMs
  t.same(await ids('state=expiring'), ['one', 'three', 'two'])
  const scrape = async () => {
    const text = await admin.kernel.services.metrics.scrape()
    return Number(/^svc_tls_certificate_expiry_seconds\{certificate="one".*\} (\S+)$/m.exec(text)?.[1])
  }
  const leftSeconds = await scrape()
  t.ok(leftSeconds > dayMs / 1000 && leftSeconds <= (2 * dayMs) / 1000, `${leftSeconds} s`)
  t.match(await find('one.l.test'), { isExpired: false })
  aheadMs += 3 * dayMs
  t.same(await ids('state=expired'), ['one', 'three', 'two'])
  t.ok((await scrape()) < 0)
  const { items } = (await call('GET', '/certificates?domain=one.l.test')).json
  t.equal(items.length, 2)
  t.match(await find('one.l.test'), { isExpired: false }, 'a valid wildcard goes before an expired exact one')
  await call('DELETE', '/certificates/wild?force=true')
  t.match(await find('one.l.test'), { isExpired: true }, 'an expired one where there is no other')
  for (const id of names) await call('DELETE', `/certificates/${id}?force=true`)
  const late = await call('POST', '/certificates', uploadOf('late', authority.issue(['late.test'], { days: 100 })))
  t.equal(late.json.state, 'valid')
})

t.test(
  'exact names precede wildcards, newer certificates older ones, and the choice of a user of certificates both',
  async t => {
    const wild = authority.issue(['*.x.test'], { days: 100 })
    const exact = authority.issue(['a.x.test'], { days: 100 })
    await call('POST', '/certificates', uploadOf('wild', wild))
    t.match(await find('a.x.test'), firstOf(wild))
    t.equal(await find('x.test'), undefined)
    t.equal(await find('a.b.x.test'), undefined)
    await call('POST', '/certificates', uploadOf('exact', exact))
    t.match(await find('a.x.test'), firstOf(exact))
    t.match(await find('b.x.test'), firstOf(wild))
    t.match((await call('GET', '/certificates/exact')).json, { usedBy: [], servedFor: ['a.x.test'] })
    uses.set('wild', ['a.x.test'])
    t.match(await find('a.x.test'), firstOf(wild))
    t.match((await call('GET', '/certificates/wild')).json, {
      usedBy: ['site'],
      servedFor: ['a.x.test', '*.x.test'],
    })
    const { items } = (await call('GET', '/certificates')).json
    t.match(items.find(({ id }: { id: string }) => id === 'exact').servedFor, [])
    t.match((await call('DELETE', '/certificates/wild')).json, { code: 'certificate_in_use', detail: /used by site/ })
    const lost = await call('PUT', '/certificates/wild', uploadOf(undefined, exact))
    t.match(lost, {
      status: 409,
      json: { code: 'certificate_served', detail: /^Visitors of \*\.x\.test get "wild" now/ },
    })
    const narrow = await call('PUT', '/certificates/wild?force=true', uploadOf(undefined, exact))
    t.equal(narrow.status, 200, 'another that covers the name may take its place')
    const other = await call(
      'PUT',
      '/certificates/wild',
      uploadOf(undefined, authority.issue(['c.x.test'], { days: 100 })),
    )
    t.match(other.json, { code: 'invalid_certificate', detail: /does not cover a\.x\.test, which site needs/ })
    await t.resolves(certificates.prepareUse('wild', ['a.x.test']))
    await t.rejects(certificates.prepareUse('wild', ['q.test']), {
      code: 'invalid_certificate',
      message: /does not cover q\.test/,
    })
    await t.rejects(certificates.prepareUse('gone', ['q.test']), { code: 'certificate_not_found' })
    uses.clear()
  },
)

t.test('served by matching alone: the names keep a certificate, unless it is forced', async t => {
  for (const id of ['wild', 'exact']) await call('DELETE', `/certificates/${id}?force=true`)
  const both = authority.issue(['a.x.test', '*.x.test'], { days: 100 })
  const other = authority.issue(['other.test'], { days: 100 })
  const replace = (by: typeof other, query = '') =>
    call('PUT', `/certificates/matched${query}`, uploadOf(undefined, by))
  await call('POST', '/certificates', uploadOf('matched', both))
  t.match(await replace(other), {
    status: 409,
    json: { code: 'certificate_served', detail: /^Visitors of a\.x\.test, \*\.x\.test get "matched" now/ },
  })
  t.match(await find('a.x.test'), firstOf(both), 'nothing is changed')
  const renewed = authority.issue(['a.x.test', '*.x.test'], { days: 100 })
  t.equal((await replace(renewed)).status, 200, 'one that is for the same names')

  const wild = authority.issue(['*.x.test'], { days: 100 })
  await call('POST', '/certificates', uploadOf('wild', wild))
  t.equal((await replace(other)).status, 200, 'another certificate is for them')
  t.match(await find('a.x.test'), firstOf(wild))
  await replace(renewed)
  await call('DELETE', '/certificates/wild?force=true')

  const deletion = await call('DELETE', '/certificates/matched')
  t.match(deletion, {
    status: 409,
    json: { code: 'certificate_served', detail: /^Visitors of a\.x\.test, \*\.x\.test get/ },
  })
  t.match(await find('a.x.test'), firstOf(renewed), 'nor is it deleted')

  const forced = await replace(other, '?force=true')
  t.match(forced, { status: 200, json: { servedFor: [], domains: ['other.test'] } })
  t.equal(await find('a.x.test'), undefined)
  uses.set('matched', ['other.test'])
  t.match((await replace(renewed, '?force=true')).json, { code: 'invalid_certificate', detail: /which site needs/ })
  t.match(
    (await call('DELETE', '/certificates/matched?force=true')).json,
    { detail: /used by site/ },
    'what is named stays',
  )
  uses.clear()
  await replace(renewed)
  t.equal((await call('DELETE', '/certificates/matched?force=true')).status, 204)
  t.equal(await find('a.x.test'), undefined)
})

t.test('one that has expired goes without force: its names have nothing to lose', async t => {
  await call('POST', '/certificates', uploadOf('old', authority.issue(['a.x.test', '*.x.test'], { days: 100 })))
  t.match((await call('DELETE', '/certificates/old')).json, { code: 'certificate_served' })
  aheadMs += 200 * dayMs
  t.match((await call('GET', '/certificates/old')).json, { state: 'expired', servedFor: ['a.x.test', '*.x.test'] })
  t.equal((await call('DELETE', '/certificates/old')).status, 204)
  aheadMs -= 200 * dayMs
})

t.test('of two certificates that stand in for each other, one stays where both are deleted at once', async t => {
  const ids = ['left', 'right']
  for (const id of ids) {
    await call('POST', '/certificates', uploadOf(id, authority.issue(['a.x.test', '*.x.test'], { days: 100 })))
  }
  /** Both have been looked at before either is deleted. */
  const { promise: areBothSeen, resolve } = Promise.withResolvers<void>()
  let seen = 0
  shared.beforeFence = () => {
    if (++seen === ids.length) resolve()
    return areBothSeen
  }
  const answers = await Promise.all(ids.map(id => call('DELETE', `/certificates/${id}`)))
  shared.beforeFence = undefined
  t.same(answers.map(({ status }) => status).sort(), [204, 409])
  t.match(answers.find(({ status }) => status === 409)?.json, { code: 'certificate_served' })
  t.ok(await find('a.x.test'))
  for (const id of ids) await call('DELETE', `/certificates/${id}?force=true`)
})

t.test('a use that begins beside a deletion or a replacement: one of the two is refused', async t => {
  const [store, sites] = [stores[0]!, shared.sites!]
  const both = authority.issue(['r.test', 's.test'], { days: 100 })
  const one = authority.issue(['r.test'], { days: 100 })
  await call('POST', '/certificates', uploadOf('raced', both))
  let changes = 0
  /** Somebody begins to use the certificate when it has been seen to have no user. */
  const raceOnce = (domains: string[]) => {
    uses.clear()
    shared.beforeFence = async () => {
      if (uses.has('raced')) return
      uses.set('raced', domains)
      const use = await certificates.prepareUse('raced', domains)
      await store.transaction(tx => {
        tx.put(sites, 'site', { change: ++changes })
        use(tx)
      })
    }
  }
  raceOnce(['s.test'])
  t.match((await call('DELETE', '/certificates/raced')).json, { code: 'certificate_in_use', detail: /used by site/ })
  raceOnce(['s.test'])
  t.match((await call('PUT', '/certificates/raced', uploadOf(undefined, one))).json, {
    code: 'invalid_certificate',
    detail: /does not cover s\.test, which site needs/,
  })
  raceOnce(['r.test'])
  t.equal((await call('PUT', '/certificates/raced', uploadOf(undefined, one))).status, 200, 'it covers the new user')
  shared.beforeFence = undefined
  uses.clear()

  const use = await certificates.prepareUse('raced', ['r.test'])
  t.equal((await call('DELETE', '/certificates/raced')).status, 204)
  await t.rejects(
    store.transaction(tx => {
      tx.put(sites, 'late', { change: ++changes })
      use(tx)
    }),
    { code: 'precondition_failed' },
  )
  t.equal(await sites.get('late'), undefined, 'nothing names what is gone')
})

t.test('what is presented for a name', async t => {
  await call('POST', '/certificates', uploadOf('shown', authority.issue(['*.p.test'], { days: 100 })))
  t.match(await certificates.presented('a.p.test', 'web-tls'), { id: 'shown', state: 'valid' })
  t.equal(await certificates.presented('b.test', 'web-tls'), undefined, 'the handshake is refused')
  t.equal(await certificates.presented('a.p.test', 's3'), undefined, 'plain HTTP')
  t.equal(await certificates.presented('a.p.test', 'web'), undefined, 'plain HTTP')
})

t.test('a requested order is stored in the transaction of its requester, and is deleted by it', async t => {
  const store = stores[0]!
  const wish = { domains: ['w.test'] }
  const put = await certificates.prepareWish('wished', wish)
  t.equal((await call('GET', '/certificates/wished')).status, 404, 'not before')
  await store.transaction(put)
  t.match((await call('GET', '/certificates/wished')).json, {
    source: 'acme',
    state: 'pending',
    domains: ['w.test'],
    notAfter: '',
    acme: { attempts: 0, step: '', lastError: '' },
  })
  const before = (await certificates.get('wished')).updatedMs
  await store.transaction(await certificates.prepareWish('wished', wish))
  t.equal((await certificates.get('wished')).updatedMs, before, 'the same wish changes nothing')
  await store.transaction(await certificates.prepareWish('wished', { domains: ['w.test', 'v.test'] }))
  t.same((await certificates.get('wished')).domains, ['w.test', 'v.test'])
  t.equal(
    (await call('PUT', '/certificates/wished', uploadOf(undefined, authority.issue(['w.test'], { days: 90 })))).json
      .code,
    'conflict',
  )
  await t.rejects(certificates.prepareWish('late', wish), { code: 'already_exists' })
  const own = uploadOf('wished', authority.issue(['w.test'], { days: 90 }))
  const ordered = /"wished".*ordered from a certificate authority.*renewed, not replaced.*another id/
  t.match(await call('POST', '/certificates', own), { status: 409, json: { code: 'already_exists', detail: ordered } })
  t.match(await call('PUT', '/certificates/wished', { ...own, id: undefined }), {
    status: 409,
    json: { code: 'conflict', detail: ordered },
  })
  await t.rejects(certificates.prepareWish('x', { domains: ['*.w.test'] }), { message: /dns-01 alone/ })
  await t.rejects(certificates.prepareWish('x', { domains: ['127.0.0.1'] }), { message: /address/ })
  await t.rejects(certificates.prepareWish('x', { domains: [] }), { message: /1 to 100/ })
  uses.set('wished', ['w.test'])
  await t.rejects(certificates.prepareEnd('wished'), { code: 'certificate_in_use', message: /is used by site too/ })
  uses.clear()
  await store.transaction(await certificates.prepareEnd('wished'))
  t.equal((await call('GET', '/certificates/wished')).status, 404)
})

t.test('rights: admin:ManageCertificates', async t => {
  const { users } = admin.kernel.services
  const statement = { Effect: 'Allow', Action: 'admin:ManageCertificates' }
  await users.putPolicy('certificates', { Version: '2012-10-17', Statement: [statement] })
  await users.createUser({ accessKey: 'ann', secretKey: userSecret, policyNames: ['readonly'] })
  await users.createUser({ accessKey: 'ben', secretKey: userSecret, policyNames: ['certificates'] })
  t.equal((await call('GET', '/certificates', undefined, admin.signedBy('ann', userSecret))).status, 403)
  t.equal((await call('GET', '/certificates', undefined, admin.signedBy('ben', userSecret))).status, 200)
})
