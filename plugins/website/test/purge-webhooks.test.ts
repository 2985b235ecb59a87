/** Webhooks that levels of the cache settings name: who is told of which page, what is refused, and where a name is from. */
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { startReceiver } from 'svc/plugins/http-client/testing'
import { eventually } from 'svc/testing'
import t from 'tap'
import { startSite } from './site.ts'

t.setTimeout(300_000)

t.test('webhooks that levels name', async t => {
  const receiver = await startReceiver(t)
  const server = await startSite({ config: { purge: { webhookAllow: ['127.0.0.0/8'] } } })
  t.teardown(() => server.stop())
  await server.put('pages', { 'index.html': 'home' })
  const aliases = ['www.example.test', 'shop.example.test']
  const docs = { type: 'prefix', pattern: '/docs/' }
  await server.publish({
    id: 'site',
    aliases,
    origin: { bucket: 'pages' },
    behaviors: [{ pathPattern: docs, access: 'public' }],
  })
  const webhook = (id: string) => ({
    id,
    type: 'generic',
    url: `${receiver.url}/${id}/{host}{path}`,
    method: 'PURGE',
  })
  const webhooks = [webhook('near'), webhook('far')]
  const levels = {
    cache: { purgeWebhooks: ['near'] },
    domains: [{ host: 'shop.example.test', cache: { purgeWebhooks: ['far'] } }],
    behaviors: [{ pathPattern: docs, cache: { purgeWebhooks: ['near', 'far'] } }],
  }
  const api = '/api/v1'
  const set = (body: object) => server.signed({ method: 'PUT', path: `${api}/distributions/site/cache/settings`, body })
  const stored = async () => (await server.signed({ path: `${api}/distributions/site/cache/settings` })).json
  const write = (Key: string) => server.s3.send(new PutObjectCommand({ Bucket: 'pages', Key, Body: Key }))
  const statuses = async () => (await server.signed({ path: `${api}/distributions/site/cache/webhooks` })).json.items
  /** What was told until nothing waits any more. */
  const told = async () => {
    await eventually(statuses, (all: { queued: number; lastError: string }[]) =>
      all.every(({ queued, lastError }) => queued === 0 && lastError === ''),
    )
    return receiver.requests
      .splice(0)
      .map(({ path }) => path.replace('/hook/', '/'))
      .sort()
  }

  await t.test('without a level that names any, all are told', async t => {
    const answer = await set({ webhooks })
    t.equal(answer.status, 200, answer.text)
    await write('a.html')
    t.same(await told(), ['near', 'far'].flatMap(id => aliases.map(host => `/${id}/${host}/a.html`)).sort())
  })

  await t.test('the narrowest level that names some counts: behavior, domain, distribution', async t => {
    const answer = await set({ ...levels, webhooks })
    t.equal(answer.status, 200, answer.text)
    t.match(await stored(), levels)
    await write('b.html')
    t.same(await told(), ['/far/shop.example.test/b.html', '/near/www.example.test/b.html'])
    await write('docs/c.html')
    t.same(await told(), ['near', 'far'].flatMap(id => aliases.map(host => `/${id}/${host}/docs/c.html`)).sort())
    const body = { paths: ['/d.html', 'https://shop.example.test/e.html'] }
    const purge = await server.signed({ method: 'POST', path: `${api}/distributions/site/invalidations`, body })
    t.ok(purge.status < 300, purge.text)
    t.same(await told(), [
      '/far/shop.example.test/d.html',
      '/far/shop.example.test/e.html',
      '/near/www.example.test/d.html',
    ])
  })

  await t.test('an empty list is nobody, and a change counts for what is told after it', async t => {
    t.equal((await set({ ...levels, cache: { purgeWebhooks: [] }, webhooks })).status, 200)
    await write('f.html')
    t.same(await told(), ['/far/shop.example.test/f.html'])
    t.equal((await set({ ...levels, webhooks })).status, 200)
  })

  await t.test('a look at a page says who is told of it, and by which level', async t => {
    const at = async (url: string) => {
      const { json } = await server.signed({ path: `${api}/cache/inspect?url=${encodeURIComponent(url)}` })
      return [json.policy.purgeWebhooks, json.policy.fields.purgeWebhooks]
    }
    t.same(await at('https://www.example.test/a.html'), [['near'], 'distribution'])
    t.same(await at('https://shop.example.test/a.html'), [['far'], 'domain'])
    t.same(await at('https://shop.example.test/docs/a.html'), [['near', 'far'], 'behavior'])
    t.equal((await set({ webhooks })).status, 200)
    t.same(await at('https://www.example.test/a.html'), [['near', 'far'], 'default'])
    t.equal((await set({ ...levels, webhooks })).status, 200)
  })

  await t.test('names of no webhook are refused where they stand, and so are names for the whole cluster', async t => {
    const before = await stored()
    const refused = async (body: object, detail: RegExp) => {
      const answer = await set(body)
      t.match(answer, { status: 400, json: { code: 'invalid_cache_request', detail } }, answer.text)
    }
    await refused({ ...levels, webhooks: webhooks.slice(1) }, /\/cache\/purgeWebhooks\/0.*"near", the id of no webhook/)
    await refused({ ...levels, webhooks: webhooks.slice(0, 1) }, /\/domains\/0\/cache\/purgeWebhooks\/0.*"far"/)
    await refused(
      { webhooks, behaviors: [{ pathPattern: docs, cache: { purgeWebhooks: ['far', 'fra'] } }] },
      /\/behaviors\/0\/cache\/purgeWebhooks\/1.*"fra"/,
    )
    t.equal((await set({ webhooks, cache: { purgeWebhooks: ['near', 'near'] } })).status, 400, 'twice')
    t.equal((await set({ webhooks, cache: { purgeWebhooks: 'near' } })).status, 400, 'no list')
    const cluster = { cache: { purgeWebhooks: ['near'] } }
    const path = `${api}/cache/settings`
    t.match(await server.signed({ method: 'PUT', path, body: cluster }), { status: 400 })
    t.same(await stored(), before, 'nothing was stored')
  })

  await t.test('they are in the documents of Git: out, in, what differs, and what is refused', async t => {
    const exported = async () => (await server.signed({ path: `${api}/distributions/export` })).text
    const send = (text: string, query = '') =>
      server.signed({
        method: 'POST',
        path: `${api}/distributions/import${query}`,
        headers: { 'content-type': 'application/yaml' },
        body: text,
      })
    const text = await exported()
    t.match(text, /purgeWebhooks:\s*(\[ ?near ?\]|- near)/)
    t.match((await send(text)).json, { created: [], replaced: [], changes: [] })
    await set({ ...levels, cache: { purgeWebhooks: ['far'] }, webhooks })
    const planned = (await send(text, '?dryRun=true')).json
    t.match(planned.replaced, [{ kind: 'DistributionCache', name: 'site' }])
    t.match(planned.changes, [{ element: '/spec/cache/purgeWebhooks/0', before: 'far', after: 'near' }])
    await set({ webhooks })
    const applied = await send(text)
    t.equal(applied.status, 200, applied.text)
    t.match(await stored(), levels)
    t.equal(await exported(), text, 'as it was')
    const wrong = await send(text.replace('id: far', 'id: fra'))
    t.match(wrong, {
      status: 400,
      json: { code: 'invalid_archive', errors: [{ message: /"far", the id of no webhook/ }] },
    })
    t.equal(await exported(), text)
    await write('docs/g.html')
    t.equal((await told()).length, 4, 'and they count')
  })
})
