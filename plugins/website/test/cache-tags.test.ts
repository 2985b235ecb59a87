/** The headers by which caches in front know answers: of hits and misses, of pages for errors, and only where a webhook is. */
import { startReceiver } from 'svc/plugins/http-client/testing'
import t from 'tap'
import { startSite } from './site.ts'

t.test('tags of answers', async t => {
  const receiver = await startReceiver(t)
  receiver.answer = (_request, response) => void response.writeHead(200).end('{"success":true}')
  const url = `http://127.0.0.1:${receiver.port}`
  const server = await startSite({
    config: {
      purge: { webhookAllow: ['127.0.0.0/8'] },
      'purge-cdn': { cdn1Url: url, cdn2Url: url },
    },
  })
  t.teardown(() => server.stop())
  const tagged = (body: string, tags: string) => ({ body, Metadata: { 'cache-tag': tags } }) as never
  await server.put('pages', {
    'tagged.html': tagged('tagged', 'home, two words'),
    'plain.html': 'plain',
    'docs/index.html': 'docs',
    '404.html': tagged('nothing here', 'errors'),
  })
  await server.publish({
    id: 'site',
    aliases: ['www.example.test'],
    origin: { bucket: 'pages' },
    defaultBehavior: { indexDocument: 'index.html' },
    errorPages: [{ status: 404, path: '/404.html' }],
    behaviors: [
      {
        pathPattern: { type: 'prefix', pattern: '/tagged.html' },
        responseHeaders: { 'Surrogate-Key': '' },
      },
    ],
  })
  const set = async (...webhooks: object[]) => {
    const path = '/api/v1/distributions/site/cache/settings'
    const { status, text } = await server.signed({ method: 'PUT', path, body: { webhooks } })
    t.equal(status, 200, text)
  }
  const headersOf = async (path: string) => {
    const { headers } = await server.get(path)
    return [headers['cache-tag'], headers['surrogate-key']]
  }
  t.same(await headersOf('/tagged.html'), [undefined, undefined], 'without a webhook')

  const first = { id: 'first', type: 'cdn_1', zone: '0a1b', token: 'tok3n-of-the-zone' }
  await set(first)
  t.same(await headersOf('/tagged.html'), ['home,two%20words', undefined])
  for (let tries = 0; tries < 500 && (await server.get('/tagged.html')).headers['x-cache'] !== 'HIT'; tries++);
  const { headers } = await server.get('/tagged.html')
  t.match(headers, { 'x-cache': 'HIT', 'cache-tag': 'home,two%20words' })
  t.same(await headersOf('/plain.html'), [undefined, undefined])

  await set({ id: 'second', type: 'cdn_2', token: 'tok3n-of-the-zone' })
  t.same(await headersOf('/plain.html'), [undefined, 'svc-all'])
  t.same(await headersOf('/tagged.html'), [undefined, undefined], 'the site takes it away')
  t.same(await headersOf('/docs'), [undefined, 'svc-all'], 'a redirect')
  t.same(await headersOf('/missing'), [undefined, 'errors svc-all'], 'a page for an error')

  await set()
  t.same(await headersOf('/plain.html'), [undefined, undefined], 'on the request after it')
})

t.test('settings of several operators at once, and of a server without webhooks', async t => {
  const settings = { method: 'PUT', path: '/api/v1/distributions/site/cache/settings' }
  const webhook = { type: 'generic', url: 'https://cache.example.test/', clientSecret: 'a secret of sixteen' }
  const startPublished = async (without: readonly string[]) => {
    const server = await startSite({ without })
    t.teardown(() => server.stop())
    await server.put('pages', {})
    await server.publish({ id: 'site', aliases: ['www.example.test'], origin: { bucket: 'pages' } })
    return server
  }
  const server = await startPublished([])
  const ids = Array.from({ length: 8 }, (_, index) => `hook-${index}`)
  const answers = await Promise.all(
    ids.map(id => server.signed({ ...settings, body: { webhooks: [{ ...webhook, id }] } })),
  )
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]), 'who names no ETag waits for the others')
  const { json } = await server.signed({ path: settings.path })
  t.equal(json.webhooks.length, 1)
  t.ok(ids.includes(json.webhooks[0].id))

  const bare = await startPublished(['purge'])
  const refused = await bare.signed({ ...settings, body: { webhooks: [{ ...webhook, id: 'hook' }] } })
  t.match(refused, { status: 501, text: /\/webhooks: the plugin purge, which tells webhooks, is not loaded/ })
  const taken = await bare.signed({ ...settings, body: { webhooks: [], cache: { enabled: false } } })
  t.match(taken, { status: 200, json: { webhooks: [] } })
})
