/**
 * The cache in front of a real HTTP origin, over sockets: the answers that visitors get, and the requests that the origin gets. No test waits for a
 * lifetime.
 */
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolvePolicy } from 'svc/plugins/cache/api'
import t, { type Test } from 'tap'
import { startCachedServer } from './origin-server.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

interface Seen {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

const policy = resolvePolicy({ cluster: { policy: 'respect-origin', cacheKey: { queryString: 'all' } } })

function ask(url: string, method = 'GET', headers: Record<string, string> = {}): Promise<Seen> {
  const { promise, resolve, reject } = Promise.withResolvers<Seen>()
  const sent = httpRequest(url, { method, headers })
  sent.on('error', reject)
  sent.on('response', response => {
    const chunks: Buffer[] = []
    response.on('data', chunk => chunks.push(chunk))
    response.on('error', reject)
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      resolve({ status: response.statusCode as number, headers: response.headers, text })
    })
  })
  sent.end()
  return promise
}

/** An origin that answers by `handler`, and records its requests. */
async function setUp(t: Test) {
  const asked: string[] = []
  let handler: Handler = (_request, response) => response.end()
  const origin = createServer((request, response) => {
    asked.push(`${request.method} ${request.headers['if-none-match'] ?? '-'} ${request.headers.range ?? '-'}`)
    handler(request, response)
  })
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const end = () => {
    origin.closeAllConnections()
    origin.close()
  }
  t.teardown(end)
  const { port } = origin.address() as AddressInfo
  const { url } = await startCachedServer(t, { originPort: port, policy })
  const answerWith = (next: Handler) => {
    handler = next
  }
  return { url, asked, answerWith, end }
}

const lasting = { 'Cache-Control': 'max-age=3600', ETag: '"1"', 'Content-Type': 'text/plain' }
const whole: Handler = (_request, response) => response.writeHead(200, lasting).end('0123456789')

t.test('an answer is read once, and its conditions, ranges and HEAD are answered from it', async t => {
  const { url, asked, answerWith } = await setUp(t)
  answerWith(whole)
  const first = await ask(`${url}/page`)
  t.match(first, { status: 200, text: '0123456789', headers: { 'x-cache': 'MISS' } })
  const second = await ask(`${url}/page`)
  t.match(second, { status: 200, text: '0123456789', headers: { 'x-cache': 'HIT', 'content-type': 'text/plain' } })
  t.match(second.headers.age, /^\d+$/)
  t.match(await ask(`${url}/page`, 'HEAD'), { status: 200, text: '', headers: { 'x-cache': 'HIT' } })
  t.match(await ask(`${url}/page`, 'GET', { 'if-none-match': '"1"' }), { status: 304, text: '' })
  t.match(await ask(`${url}/page`, 'GET', { range: 'bytes=2-4' }), {
    status: 206,
    text: '234',
    headers: { 'content-range': 'bytes 2-4/10' },
  })
  t.same(asked, ['GET - -'])
})

t.test('who asks meanwhile waits for the one read, and an expired answer is confirmed by its tag', async t => {
  const { url, asked, answerWith } = await setUp(t)
  const release = Promise.withResolvers<void>()
  answerWith((request, response) => {
    void release.promise.then(() => whole(request, response))
  })
  const pages = [ask(`${url}/page`), ask(`${url}/page`), ask(`${url}/page`)]
  while (asked.length === 0) await new Promise(resolve => setImmediate(resolve))
  release.resolve()
  for (const { text } of await Promise.all(pages)) t.equal(text, '0123456789')
  t.same(asked, ['GET - -'])
  answerWith((_request, response) => response.writeHead(304, lasting).end())
  const forced = await ask(`${url}/page`, 'GET', { 'cache-control': 'no-cache' })
  t.match(forced, { status: 200, text: '0123456789', headers: { 'x-cache': 'REVALIDATED' } })
  t.same(asked, ['GET - -', 'GET "1" -'])
})

t.test('an answer that is cut off reaches its visitor as cut off, and nobody else', async t => {
  const { url, asked, answerWith } = await setUp(t)
  answerWith((_request, response) => {
    response.writeHead(200, { ...lasting, 'Content-Length': '10' })
    response.write('01234', () => response.destroy())
  })
  const cut = await ask(`${url}/page`).catch(() => undefined)
  t.ok(cut === undefined || cut.status === 502, 'no visitor takes the half for the whole')
  answerWith(whole)
  t.match(await ask(`${url}/page`), { status: 200, text: '0123456789', headers: { 'x-cache': 'MISS' } })
  t.equal(asked.length, 2)
})

t.test('a large answer without a length passes through whole, chunk by chunk', async t => {
  const { url, asked, answerWith } = await setUp(t)
  const size = 3 * 1024 * 1024
  answerWith((_request, response) => {
    response.writeHead(200, lasting)
    for (let i = 0; i < 3; i++) response.write(Buffer.alloc(size / 3, String(i)))
    response.end()
  })
  for (let round = 0; round < 2; round++) t.equal((await ask(`${url}/large`)).text.length, size)
  t.equal(asked.length, 2, 'it is too large for an entry, and has no places to read from')
})

t.test('a change through the cache drops the answer of its address', async t => {
  const { url, asked, answerWith } = await setUp(t)
  answerWith(whole)
  await ask(`${url}/page`)
  answerWith((_request, response) => response.writeHead(204).end())
  t.match(await ask(`${url}/page`, 'DELETE'), { status: 204, headers: { 'x-cache': 'BYPASS' } })
  answerWith((_request, response) => response.writeHead(200, { ...lasting, ETag: '"2"' }).end('new'))
  t.match(await ask(`${url}/page`), { text: 'new', headers: { 'x-cache': 'MISS' } })
  t.equal(asked.length, 3)
})

t.test('what is fresh is served without the origin; what is not stored is answered 502', async t => {
  const { url, answerWith, end } = await setUp(t)
  answerWith(whole)
  await ask(`${url}/page`)
  end()
  t.match(await ask(`${url}/page`), { status: 200, text: '0123456789', headers: { 'x-cache': 'HIT' } })
  t.match(await ask(`${url}/other`), { status: 502 })
})
