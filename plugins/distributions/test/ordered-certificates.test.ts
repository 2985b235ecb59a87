/** A certificate that was ordered for a distribution does not go without a question where visitors get it and would get none. */
import { definePlugin } from 'svc/kernel'
import { startAdmin } from 'svc/plugins/admin/testing'
import 'svc/plugins/certificates/api'
import { createTestAuthority } from 'svc/plugins/certificates/testing'
import type { StoreService } from 'svc/plugins/store/api'
import { createSystemPorts, temporaryFolder } from 'svc/testing'
import t from 'tap'
import { isUsable } from '../certificates.ts'

const stores: StoreService[] = []
const authority = createTestAuthority(temporaryFolder(t))
const system = createSystemPorts().clock
/** An hour ahead, so that certificates are valid already. */
const clock = { ...system, now: () => system.now() + 3_600_000 }
const admin = await startAdmin({
  ports: { clock },
  // Certificates are issued by the test.
  without: ['acme'],
  plugins: [
    definePlugin({
      name: 'store-of-test',
      requires: ['store'],
      setup: ({ services: { store } }) => void stores.push(store),
    }),
  ],
})
t.teardown(admin.stop)
const { certificates } = admin.kernel.services

const call = (method: string, path: string, body?: object) => admin.signed({ method, path: `/api/v1${path}`, body })
await call('POST', '/buckets', { name: 'pages' })
const site = (id: string, aliases: string[], certificate = 'none') => ({
  id,
  aliases,
  origin: { bucket: 'pages' },
  tls: { certificate },
})
type Site = ReturnType<typeof site>
const put = (document: Site, query = '') => call('PUT', `/distributions/${document.id}${query}`, document)
const remove = (id: string, query = '') => call('DELETE', `/distributions/${id}${query}`)
const servedFor = async (id: string) => (await call('GET', `/certificates/${id}`)).json.servedFor

/** Its certificate has been ordered; it may have more names than it was ordered for. */
async function order(document: Site, names: string[]): Promise<void> {
  await put(document)
  const { acme } = (await certificates.orders.get(document.id))!
  const { chain, key: privateKey } = authority.issue(names, { days: 90 })
  const issued = { chain, privateKey, domains: document.aliases }
  await stores[0]!.transaction(await certificates.orders.prepareIssued(document.id, issued, acme))
}

const refusal = (domains: string, id: string) => ({
  status: 409,
  json: {
    code: 'certificate_served',
    detail: `Visitors of ${domains} get "${id}" now, and would get no certificate that browsers accept.`,
  },
})

t.test('a certificate in force is taken while its successor is ordered', async t => {
  const presented = { covers: true, notAfter: '2099-01-01T00:00:00.000Z' }
  for (const state of ['valid', 'expiring', 'pending', 'failed'] as const)
    t.equal(isUsable({ ...presented, state }), true, state)
  t.equal(isUsable({ ...presented, state: 'expired' }), false)
  t.equal(isUsable({ ...presented, state: 'valid', covers: false }), false)
  t.equal(isUsable({ ...presented, state: 'failed', notAfter: '' }), false, 'there has been none yet')
})

t.test('its own domains: another setting is refused where they would be without one', async t => {
  const shop = site('shop', ['www.shop.test', 'shop.test'], 'auto')
  await order(shop, shop.aliases)
  const none = { ...shop, tls: { certificate: 'none' } }
  t.match(await put(none, '?dryRun=true'), refusal('www.shop.test, shop.test', 'shop'))
  t.match(await put(none), refusal('www.shop.test, shop.test', 'shop'))
  t.same(await servedFor('shop'), shop.aliases, 'nothing is changed')
  t.match(await put({ ...none, aliases: ['shop.test'] }), refusal('shop.test', 'shop'), 'those that stay')
  const test = await call('POST', '/distributions/shop/test', { url: '/', draft: none })
  t.equal(test.status, 200, 'a test stores nothing')
  t.equal((await put({ ...shop, aliases: ['shop.test'] })).status, 200, 'nobody visits a domain that it has no more')

  const { chain, key } = authority.issue(['shop.test'], { days: 90 })
  await call('POST', '/certificates', { id: 'own', certificate: chain, privateKey: key })
  const another = { ...shop, aliases: ['shop.test'], tls: { certificate: 'own' } }
  t.equal((await put(another)).status, 200, 'another certificate is for it')
  await order(shop, shop.aliases)
  t.equal((await put(none, '?force=true')).status, 200)
  t.same(await servedFor('own'), ['shop.test'])
  await order(shop, shop.aliases)
  t.equal((await remove('shop')).status, 204, 'nothing answers at its domains any more')
})

t.test('domains of another distribution: it is asked for them, too', async t => {
  const wild = site('wild', ['wild.test', 'tame.test'], 'auto')
  const other = site('other', ['www.wild.test'])
  await order(wild, [...wild.aliases, '*.wild.test'])
  await put(other)
  t.same(await servedFor('wild'), ['www.wild.test', ...wild.aliases])
  const lost = refusal('www.wild.test', 'wild')
  t.match(await remove('wild'), lost)
  t.match(await put({ ...wild, aliases: ['tame.test'] }), lost, 'the next one may not be for it')
  t.equal((await put({ ...wild, aliases: [...wild.aliases, 'more.test'] })).status, 200)
  const document = `apiVersion: svc/v1
kind: Distribution
metadata: { name: wild }
spec:
  aliases: [wild.test]
  origin: { bucket: pages }
  tls: { certificate: none }
`
  const imported = (query: string) =>
    admin.signed({
      method: 'POST',
      path: `/api/v1/distributions/import${query}`,
      headers: { 'content-type': 'application/yaml' },
      body: document,
    })
  const warning = /Distribution\/wild: Visitors of www\.wild\.test, wild\.test get "wild" now/
  t.match((await imported('?dryRun=true')).json.warnings, [warning], 'an import warns')
  const alone = (await imported('?mode=replace&dryRun=true')).json.warnings
  t.match(alone, [/Visitors of wild\.test get/], 'and not of what it deletes')
  t.same(await servedFor('wild'), ['www.wild.test', 'wild.test', 'tame.test'])
  t.equal((await remove('wild', '?force=true')).status, 204)
  t.equal((await call('GET', '/certificates/wild')).status, 404)
})

t.test('what stands in for it is there when it goes', async t => {
  const wild = site('wild', ['wild.test'], 'auto')
  await order(wild, ['wild.test', '*.wild.test'])
  const { chain, key } = authority.issue(['www.wild.test'], { days: 90 })
  await call('POST', '/certificates', { id: 'second', certificate: chain, privateKey: key })
  const inOrder = (...changes: readonly Awaited<ReturnType<typeof certificates.prepareEnd>>[]) =>
    stores[0]!.transaction(tx => {
      for (const change of changes) change(tx)
    })
  for (const isFirst of [true, false]) {
    const id = isFirst ? 'another-first' : 'another-last'
    const wish = await certificates.prepareWish(id, { domains: ['another.test'] })
    const end = await certificates.prepareEnd('wild', { gone: wild.aliases })
    await inOrder(...(isFirst ? [wish, end] : [end, wish]))
    t.equal((await call('GET', '/certificates/wild')).status, 404, id)
    await order(wild, ['wild.test', '*.wild.test'])
  }
  const stands = await certificates.prepareEnd('wild', { gone: wild.aliases })
  await call('DELETE', '/certificates/second?force=true')
  await t.rejects(stores[0]!.transaction(stands), { code: 'precondition_failed' })
  const another = await certificates.prepareWish('another', { domains: ['another.test'] })
  for (const changes of [
    [another, stands],
    [stands, another],
  ])
    await t.rejects(inOrder(...changes), { code: 'precondition_failed' }, 'also beside a change that asks for nothing')
  t.match(await remove('wild'), refusal('www.wild.test', 'wild'))
})
