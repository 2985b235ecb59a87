/** Quotas of distributions and domains: what their answers may take of the memory. */
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { eventually } from 'svc/testing'
import t from 'tap'
import { startSite } from './site.ts'

const MiB = 1024 * 1024
const pageBytes = 60_000
const pageCount = 40
/** What is kept of answers that were asked for lately, of all three hosts, is of no quota. */
const viewBytes = 3 * pageCount * 2048

t.test('quotas of the cache', async t => {
  const server = await startSite()
  t.teardown(() => server.stop())
  await server.put('pages', {})
  for (let page = 0; page < pageCount; page++) {
    const Body = Buffer.alloc(pageBytes, page)
    await server.s3.send(new PutObjectCommand({ Bucket: 'pages', Key: `${page}.bin`, Body }))
  }
  const hosts = ['a.example.test', 'b.example.test']
  await server.publish({ id: 'small', aliases: hosts, origin: { bucket: 'pages' } })
  await server.publish({ id: 'large', aliases: ['large.example.test'], origin: { bucket: 'pages' } })
  const set = (id: string, body: object) =>
    server.signed({ method: 'PUT', path: `/api/v1/distributions/${id}/cache/settings`, body })
  const used = () => server.kernel.services.cache.usage()
  /** All pages once; how many were hits. */
  const visit = async (host: string) => {
    let hits = 0
    for (let page = 0; page < pageCount; page++) {
      const { headers, status } = await server.get(`/${page}.bin`, { host })
      if (status !== 200) throw new Error(`${status}`)
      if (headers['x-cache'] === 'HIT') hits++
    }
    return hits
  }
  /** Of what has no quota. */
  let others = 0
  const perHost = { cacheKey: { includeHost: true } }

  await t.test('a distribution keeps to its quota, and others keep what they have', async t => {
    t.equal((await set('small', { cache: { quota: '1MiB', ...perHost } })).status, 200)
    await visit('large.example.test')
    const before = used()
    others = before.bytes
    t.ok(before.bytes > pageCount * pageBytes)
    await visit('a.example.test')
    await visit('b.example.test')
    t.ok(used().bytes - before.bytes <= MiB + viewBytes, 'one MiB at most is added')
    t.ok(used().bytes - before.bytes > MiB - 2 * pageBytes, 'which is used')
    t.equal(await visit('large.example.test'), pageCount, 'all of them are still there')
  })

  await t.test('a domain has a quota of its own, within that of its distribution', async t => {
    const settings = {
      cache: { quota: 2 * MiB, ...perHost },
      domains: [{ host: 'a.example.test', cache: { quota: '1MiB' } }],
    }
    t.equal((await set('small', settings)).status, 200)
    const { text } = await server.signed({
      path: '/api/v1/cache/inspect?url=http%3A%2F%2Fa.example.test%2F1.bin',
    })
    t.match(JSON.parse(text).policy, { distributionQuota: 2 * MiB, domainQuota: MiB })
    const rest = await server.signed({ path: '/api/v1/cache/inspect?url=http%3A%2F%2Fb.example.test%2F1.bin' })
    t.match(JSON.parse(rest.text).policy, { distributionQuota: 2 * MiB, domainQuota: 0 })
    const unlimited = await server.signed({ path: '/api/v1/cache/inspect?url=http%3A%2F%2Flarge.example.test%2F1.bin' })
    t.match(JSON.parse(unlimited.text).policy, { distributionQuota: 0, domainQuota: 0 })
    await visit('a.example.test')
    await visit('b.example.test')
    t.ok(used().bytes - others <= 2 * MiB + viewBytes, 'both together have the quota of the distribution')
    t.ok(used().bytes - others > 2 * MiB - 3 * pageBytes)
    await set('small', { ...settings, cache: { quota: '16MiB', ...perHost } })
    await visit('b.example.test')
    await visit('a.example.test')
    const ofB = pageCount * (pageBytes + 1000)
    t.ok(used().bytes - others <= MiB + ofB + viewBytes, 'the domain is not given more')
    t.ok(used().bytes - others > MiB + pageCount * pageBytes - 2 * pageBytes)
  })

  await t.test('a quota that is lowered counts with the next answer; a removed one does not count', async t => {
    t.equal((await set('large', { cache: { quota: '2MiB' } })).status, 200)
    await visit('large.example.test')
    const before = used().bytes
    t.equal((await set('large', { cache: { quota: '1MiB' } })).status, 200)
    await visit('large.example.test')
    t.ok(before - used().bytes > MiB - 2 * pageBytes, 'half of it gave way')
    t.equal((await set('large', { cache: {} })).status, 200)
    await visit('large.example.test')
    t.equal(await visit('large.example.test'), pageCount)
  })

  await t.test('what a removed quota has counted leaves the memory, as other answers come', async t => {
    const quotas = {
      cache: { quota: '16MiB', ...perHost },
      domains: [{ host: 'a.example.test', cache: { quota: '8MiB' } }],
    }
    await set('small', quotas)
    for (const host of hosts) await visit(host)
    const { entries } = used()
    await set('small', { cache: perHost })
    for (const host of hosts) await visit(host)
    t.ok(used().entries <= entries, `${used().entries} entries, before ${entries}`)
    for (const host of hosts) t.equal(await visit(host), pageCount, 'and nothing else did')
  })

  await t.test('the settings of a distribution that is removed go, and name no policy any more', async t => {
    const body = { name: 'mine', ttl: { default: '1m' } }
    t.equal((await server.signed({ method: 'POST', path: '/api/v1/cache/policies', body })).status, 201)
    await server.publish({ id: 'former', aliases: ['former.example.test'], origin: { bucket: 'pages' } })
    t.equal((await set('former', { cache: { policy: 'mine' } })).status, 200)
    const remove = () => server.signed({ method: 'DELETE', path: '/api/v1/cache/policies/mine' })
    t.match(await remove(), { status: 409, json: { code: 'cache_policy_in_use' } })
    await server.signed({ method: 'DELETE', path: '/api/v1/distributions/former' })
    t.equal((await eventually(remove, ({ status }) => status !== 409)).status, 204)
    await server.publish({ id: 'former', aliases: ['former.example.test'], origin: { bucket: 'pages' } })
    const read = await server.signed({ path: '/api/v1/distributions/former/cache/settings' })
    t.match(read.json, { cache: {}, etag: 'unset' })
  })

  await t.test('levels without a quota refuse it, with its place', async t => {
    const refused = async (path: string, body: object, text: RegExp, method = 'PUT') => {
      const answer = await server.signed({ method, path, body })
      t.match(answer, { status: 400, text }, answer.text)
    }
    await refused('/api/v1/cache/settings', { cache: { quota: '1MiB' } }, /quota/)
    await refused('/api/v1/cache/policies', { name: 'p', quota: '1MiB' }, /quota/, 'POST')
    const path = '/api/v1/distributions/small/cache/settings'
    await refused(path, { cache: { quota: '1KiB' } }, /\/cache\/quota.*less than 1MiB/)
    await refused(path, { cache: { quota: 'much' } }, /\/cache\/quota/)
    const pathPattern = { type: 'prefix', pattern: '/x' }
    await refused(path, { behaviors: [{ pathPattern, cache: { quota: '2MiB' } }] }, /quota/)
  })
})
