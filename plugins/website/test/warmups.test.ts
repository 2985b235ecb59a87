/** Warm-ups: what is fetched before anybody asks, so that the first visitor's request is a hit. */
import { hash } from 'node:crypto'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { startSite } from './site.ts'

t.setTimeout(120_000)
const server = await startSite()
t.teardown(() => server.stop())
const large = 'x'.repeat(300_000)
await server.put('pages', {
  'index.html': 'home',
  'docs/index.html': 'docs',
  'docs/a b.html': 'a',
  'img/large.bin': large,
  'secret/s.html': 'private',
  'never.html': { body: 'never', CacheControl: 'no-store' },
  'sitemap.xml':
    '<urlset><url><loc>https://www.example.test/docs/</loc></url><url><loc>https://elsewhere.example/x</loc></url></urlset>',
})
const hosts = ['www.example.test', 'en.example.test']
await server.publish({
  id: 'site',
  aliases: hosts,
  origin: { bucket: 'pages' },
  defaultBehavior: { indexDocument: 'index.html' },
  behaviors: [{ pathPattern: { type: 'prefix', pattern: '/secret/' }, access: 'authenticated' }],
})
const settings = (body: object) =>
  server.signed({ method: 'PUT', path: '/api/v1/distributions/site/cache/settings', body })
await settings({ cache: { cacheKey: { includeHost: true } } })

const start = (body: object, id = 'site') =>
  server.signed({ method: 'POST', path: `/api/v1/distributions/${id}/cache/warmups`, body })
async function warm(body: object) {
  const started = await start(body)
  t.equal(started.status, 202, started.text)
  for (;;) {
    const { json } = await server.signed({ path: `/api/v1/distributions/site/cache/warmups/${started.json.id}` })
    if (json.state !== 'in-progress') return json
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}
const ask = async (path: string, host = hosts[0]!) => (await server.get(path, { host })).headers['x-cache']

t.test('the first visitor of what was warmed has a hit, at every alias', async t => {
  const done = await warm({ paths: ['/', '/docs/', '/docs/a%20b.html', '/img/large.bin'] })
  t.match(done, { state: 'completed', total: 8, fetched: 8, hits: 0, skipped: 0, failed: 0, errors: [] })
  t.ok(done.bytes >= 2 * large.length, 'bytes')
  t.match(done.nodes, [{ state: 'completed', fetched: 8 }])
  for (const host of hosts) {
    for (const path of ['/', '/docs/', '/docs/a%20b.html', '/img/large.bin'])
      t.equal(await ask(path, host), 'HIT', `${host}${path}`)
  }
  t.match(await warm({ paths: ['/'] }), { hits: 2, fetched: 0 }, 'a second one finds it there')
  t.match(await warm({ paths: ['/docs/a b.html', '/docs/ä 100%.html'] }), {
    hits: 2,
    failed: 2,
    errors: [{ status: 404 }],
  })
})

t.test('objects by pattern, a sitemap, and one alias alone', async t => {
  await server.signed({ method: 'POST', path: '/api/v1/distributions/site/invalidations', body: { all: true } })
  const patterns = [{ type: 'glob', pattern: '/docs/*.html' }]
  t.match(await warm({ patterns, domains: ['en.example.test'] }), { total: 2, fetched: 2 })
  t.equal(await ask('/docs/', 'en.example.test'), 'HIT', 'an index document is asked for by its folder')
  t.equal(await ask('/docs/a%20b.html', 'en.example.test'), 'HIT')
  t.equal(await ask('/docs/a%20b.html'), 'MISS', 'not at the other')
  t.match(await warm({ sitemap: '/sitemap.xml' }), { total: 2 }, 'pages of others are left out')
  t.equal(await ask('/docs/'), 'HIT')
  t.match(await warm({ patterns: [{ type: 'prefix', pattern: '/' }], maxObjects: 2 }), { total: 4 })
})

t.test('pages that are confirmed at each use are kept, and need no read', async t => {
  await server.put('pages', { 'always/x.html': { body: 'x', CacheControl: 'no-cache' } })
  t.match(await warm({ paths: ['/always/x.html'] }), { total: 2, fetched: 2, skipped: 0 })
  for (const host of hosts) t.equal(await ask('/always/x.html', host), 'REVALIDATED')
})

t.test('what is not for everybody, or not for the cache, is skipped; what is missing is told', async t => {
  const done = await warm({ paths: ['/secret/s.html', '/never.html', '/missing.html', '/./a'], domains: [hosts[0]] })
  t.match(done, { total: 4, fetched: 0, skipped: 2, failed: 2 })
  t.match(done.errors, [{ url: '//www.example.test/missing.html', status: 404 }, { status: 400 }])
  t.not(await ask('/secret/s.html'), 'HIT')
  t.equal((await server.get('/secret/s.html')).status, 403, 'a warm-up opens nothing')
})

t.test('a sitemap that is not for visitors is not read, and what is wrong with one is told', async t => {
  const hidden = '<loc>https://www.example.test/hidden-page</loc>'
  await server.put('pages', { 'secret/sitemap.xml': `<urlset>${hidden}</urlset>`, 'big.xml': hidden.repeat(50_000) })
  const secret = await warm({ sitemap: '/secret/sitemap.xml', domains: [hosts[0]] })
  t.notMatch(JSON.stringify(secret), /hidden-page/, 'its pages are not told')
  const told = (message: RegExp) => ({ state: 'failed', total: 0, errors: [{ url: '', message }] })
  t.match(secret, told(/sitemap is in a behavior whose access is authenticated/))
  t.match(await warm({ sitemap: '/no-sitemap.xml' }), told(/sitemap is no object of the distribution/))
  t.match(await warm({ sitemap: '/%ff.xml' }), told(/sitemap is no path/))
  t.match(await warm({ sitemap: '/big.xml', maxObjects: 1, domains: [hosts[0]] }), { total: 1 })
})

t.test('a warm-up is shown to those who may start one of its distribution', async t => {
  const { id } = (await start({ paths: ['/'], headers: { Cookie: 'session=1' } })).json
  const document = {
    Version: '2012-10-17',
    Statement: [
      { Effect: 'Allow', Action: ['admin:InvalidateCache'], Resource: ['arn:aws:s3:::*'] },
      { Effect: 'Deny', Action: ['admin:InvalidateCache'], Resource: ['arn:aws:s3:::pages', 'arn:aws:s3:::pages/*'] },
    ],
  }
  const post = (path: string, body: object) => server.signed({ method: 'POST', path: `/api/v1${path}`, body })
  await server.signed({ method: 'PUT', path: '/api/v1/policies/others', body: { document } })
  await post('/users', { accessKey: 'eve', secretKey: 'eve-secret-key-1' })
  await post('/policies/attach', { policyNames: ['others'], user: 'eve' })
  const path = `/api/v1/distributions/site/cache/warmups/${id}`
  t.equal((await server.signed({ path })).status, 200)
  const eve = server.signedBy('eve', 'eve-secret-key-1')
  t.equal((await eve({ path })).status, 403)
  t.equal((await eve({ method: 'POST', path: '/api/v1/distributions/site/cache/warmups', body: {} })).status, 403)
})

t.test('requests that cannot be right are refused', async t => {
  const refused = async (body: object, status: number, detail: RegExp, id = 'site') => {
    const answer = await start(body, id)
    t.equal(answer.status, status, answer.text)
    t.match(answer.json.detail, detail)
  }
  await refused({}, 400, /selects nothing/)
  await refused({ paths: ['docs'] }, 400, /\/paths\/0 must be a path/)
  await refused({ paths: ['/'], domains: ['other.example.test'] }, 400, /\/domains\/0 is no exact alias/)
  await refused({ patterns: [{ type: 'glob', pattern: '/{a' }] }, 400, /\/patterns\/0\/pattern/)
  await refused({ patterns: [{ type: 'prefix', pattern: '%C3%BC/' }] }, 400, /\/patterns\/0\/pattern .* write "\/ü\/"/)
  await refused({ paths: ['/'] }, 404, /./, 'nobody')
  const unknown = await server.signed({ path: '/api/v1/distributions/site/cache/warmups/warm-0' })
  t.match(unknown.json, { code: 'warmup_not_found' })
  await settings({ cache: { enabled: false } })
  await refused({ paths: ['/'] }, 409, /is off at every host/)
  await settings({})
})

t.test('large requests are forgotten before they fill the memory', async t => {
  const paths = Array.from({ length: 240 }, (_, index) => `/${index}${'x'.repeat(4000)}`)
  const ids: string[] = []
  for (let i = 0; i < 20; i++) ids.push((await warm({ paths, maxObjects: 1, domains: [hosts[0]] })).id)
  await warm({ paths: ['/'] })
  const shown = await Promise.all(
    ids.map(id => server.signed({ path: `/api/v1/distributions/site/cache/warmups/${id}` })),
  )
  t.equal(shown[0]?.status, 404, 'the oldest is gone')
  t.equal(shown.at(-1)?.status, 200, 'the newest is kept')
})

t.test('at most four at once', async t => {
  await server.s3.send(new CreateBucketCommand({ Bucket: 'many' }))
  for (let index = 0; index < 40; index++) {
    await server.s3.send(
      new PutObjectCommand({ Bucket: 'many', Key: `k${index}`, Body: 'x', CacheControl: 'no-store' }),
    )
  }
  await server.publish({ id: 'many', aliases: ['many.example.test'], origin: { bucket: 'many' } })
  const body = { patterns: [{ type: 'prefix', pattern: '/' }], concurrency: 1 }
  const started = await Promise.all(Array.from({ length: 6 }, () => start(body, 'many')))
  t.same(started.map(({ status }) => status).sort(), [202, 202, 202, 202, 429, 429])
})

t.test('warmOnWrite: what is written is in the cache again before anybody asks', async t => {
  t.equal((await settings({ warmOnWrite: ['docs/**', '/img/*.png'] })).status, 200)
  for (const pattern of ['docs/{', '%C3%BC/*'])
    t.equal((await settings({ warmOnWrite: [pattern] })).status, 400, pattern)
  await server.put('pages', { 'docs/new.html': 'new', 'docs/index.html': 'docs 2', 'other.html': 'other' })
  const deadlineMs = Date.now() + 20_000
  const inspect = async (path: string) =>
    (await server.signed({ path: `/api/v1/cache/inspect?url=${encodeURIComponent(`http://www.example.test${path}`)}` }))
      .json
  const isThere = async (path: string, text: string) =>
    (await inspect(path)).nodes[0].entry?.etag === hash('md5', text, 'hex')
  while (!((await isThere('/docs/new.html', 'new')) && (await isThere('/docs/', 'docs 2')))) {
    if (Date.now() > deadlineMs) throw new Error(JSON.stringify(await inspect('/docs/new.html')))
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  t.equal(await ask('/docs/new.html'), 'HIT')
  const docs = await server.get('/docs/')
  t.match(docs, { body: 'docs 2', headers: { 'x-cache': 'HIT' } })
  t.equal(await ask('/other.html'), 'MISS', 'what does not match is not warmed')
})

t.test('they are counted by what became of them', async t => {
  const families = await server.kernel.services.metrics.sample()
  const samples = families.find(({ name }) => name === 'svc_cache_warmed_total')!.samples
  const of = (result: string) => samples.find(({ labels }) => labels.result === result)?.value ?? 0
  for (const result of ['fetched', 'hit', 'skipped', 'failed']) t.ok(of(result) > 0, result)
})
