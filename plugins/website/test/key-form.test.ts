/** Names in decomposed Unicode, as macOS gives them: they mean the same as the composed ones that keys and requests are brought to. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startSite, type TestSite } from './site.ts'

t.setTimeout(120_000)
const composed = 'über'.normalize('NFC')
const decomposed = composed.normalize('NFD')
const inUrls = [composed, decomposed].map(encodeURIComponent)
const id = 'site'
const base = { id, aliases: ['www.example.test'], origin: { bucket: 'pages' } }

const folder = await mkdtemp(join(tmpdir(), 'svc-key-form-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const start = (config: object = {}) => startSite({ config: { storage: { endpoints: [folder] }, ...config } })

const closed = (type: string, pattern: string) => [{ pathPattern: { type, pattern }, access: 'deny' }]
const patterns = [
  ['prefix', `/${decomposed}/`],
  ['glob', `/${decomposed}/*`],
  ['regex', `^/${decomposed}/`],
] as const
const openingsOf = async ({ signed }: TestSite) =>
  (await signed({ path: '/api/v1/buckets/pages/access-rules' })).json.openings as {
    readonly keys: readonly string[]
    readonly except: readonly string[]
  }[]

t.test('what was stored decomposed before, closes what it names', async t => {
  const before = await start({ distributions: { keyNormalization: 'none' } })
  await before.put('pages', { [`${composed}/x.html`]: 'closed' })
  await before.publish({ ...base, behaviors: closed('prefix', `/${decomposed}/`) })
  const stored = (await before.signed({ path: `/api/v1/distributions/${id}` })).json
  t.equal(stored.behaviors[0].pathPattern.pattern, `/${decomposed}/`)
  await before.stop()
  const server = await start()
  try {
    for (const name of inUrls) t.equal((await server.get(`/${name}/x.html`)).status, 403, name)
    t.match(await openingsOf(server), [{ except: [`${composed}/*`] }])
    const { json, headers } = await server.signed({ path: `/api/v1/distributions/${id}` })
    t.equal(json.behaviors[0].pathPattern.pattern, `/${composed}/`)
    const call = { method: 'PUT', path: `/api/v1/distributions/${id}`, body: json, headers: { 'if-match': json.etag } }
    t.equal((await server.signed(call)).status, 200, `its ETag ${headers.etag} is that of what is stored`)
  } finally {
    await server.stop()
  }
})

t.test('what is typed decomposed', async t => {
  const server = await start()
  t.teardown(() => server.stop())
  await server.put('pages', {
    [`${composed}/x.html`]: 'closed',
    [`${composed}/${composed}.html`]: 'index',
    [`${composed}.html`]: 'page',
    'other.html': 'other',
  })
  const page = `${decomposed}.html`

  for (const [type, pattern] of patterns) {
    await t.test(`a behavior by ${type}`, async t => {
      const behaviors = closed(type, pattern)
      const url = `http://www.example.test/${inUrls[1]}/x.html`
      const draft = { ...base, behaviors }
      const test = await server.signed({
        method: 'POST',
        path: `/api/v1/distributions/${id}/test`,
        body: { url, draft },
      })
      t.match(test.json, { status: 403, behavior: { index: 0 }, decision: 'deny' }, 'the draft')
      await server.publish(draft)
      for (const name of inUrls) t.equal((await server.get(`/${name}/x.html`)).status, 403, name)
      t.equal((await server.get('/other.html')).status, 200)
      const [opening] = await openingsOf(server)
      const name = pattern.normalize('NFC').replace(/^\//, '')
      t.same(opening?.except, [
        type === 'regex' ? `* with a path that matches ${name}` : name + (type === 'prefix' ? '*' : ''),
      ])
    })
  }

  await t.test('an index document that a folder shows, although its own path is closed, is told', async t => {
    const behaviors = closed('glob', `/${decomposed}/*.html`)
    await server.publish({ ...base, defaultBehavior: { indexDocument: page }, behaviors })
    t.equal((await server.get(`/${inUrls[0]}/`)).body, 'index')
    t.equal((await server.get(`/${inUrls[0]}/${inUrls[0]}.html`)).status, 403)
    t.match((await openingsOf(server))[1], { keys: [`${composed}/${composed}.html`], except: [] })
  })

  await t.test('fallback, error page, redirect', async t => {
    await server.publish({ ...base, defaultBehavior: { spaFallback: `/${page}` } })
    t.match(await server.get('/missing'), { status: 200, body: 'page' })
    const { warnings = [] } = (
      await server.signed({
        method: 'PUT',
        path: `/api/v1/distributions/${id}`,
        body: {
          ...base,
          errorPages: [{ status: 404, path: `/${page}` }],
          redirects: [
            { from: `/${decomposed}/*`, to: '/other.html' },
            { from: `/${decomposed}`, to: '/other.html' },
          ],
        },
      })
    ).json
    t.notMatch(warnings.join(), /is not in the bucket/)
    t.match(await server.get('/missing'), { status: 404, body: 'page' })
    for (const name of inUrls)
      for (const path of [`/${name}/a`, `/${name}`])
        t.match((await server.get(path)).headers.location, /\/other\.html$/, path)
  })

  await t.test('cache settings of a behavior, purges, warm-ups', async t => {
    const pathPattern = { type: 'prefix', pattern: `/${decomposed}/` }
    await server.publish({ ...base, behaviors: [{ pathPattern, responseHeaders: { 'x-own': '1' } }] })
    const api = `/api/v1/distributions/${id}`
    const settings = (enabled: boolean) =>
      server.signed({
        method: 'PUT',
        path: `${api}/cache/settings`,
        body: { behaviors: [{ pathPattern, cache: { enabled } }] },
      })
    const path = `/${inUrls[0]}/x.html`
    const ask = async () => (await server.get(path)).headers['x-cache']
    t.equal((await settings(false)).status, 200)
    t.equal(await ask(), 'BYPASS')
    t.equal((await settings(true)).status, 200)
    const cached = async () => {
      for (let tries = 0; tries < 500; tries++) if ((await ask()) === 'HIT') return
    }
    const selections = [
      { paths: [`/${decomposed}/x.html`] },
      ...patterns.map(([type, pattern]) => ({ patterns: [{ type, pattern }] })),
    ]
    for (const body of selections) {
      await cached()
      t.equal(await ask(), 'HIT')
      await server.signed({ method: 'POST', path: `${api}/invalidations`, body })
      t.equal(await ask(), 'MISS', JSON.stringify(body))
    }
    for (const [type, pattern] of patterns.filter(([type]) => type !== 'regex')) {
      const { json } = await server.signed({
        method: 'POST',
        path: `${api}/cache/warmups`,
        body: { patterns: [{ type, pattern }] },
      })
      let job = json
      while (job.state === 'in-progress') job = (await server.signed({ path: `${api}/cache/warmups/${json.id}` })).json
      t.equal(job.total, 2, type)
    }
  })
})
