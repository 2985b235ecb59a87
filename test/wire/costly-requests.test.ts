/** Requests that are small to send and were costly to serve: each is refused for what it is, before it costs. */
import { connect } from 'node:net'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import t from 'tap'
import { startServer, type TestServer } from './server.ts'
import { createSignedClient, root } from './signed-client.ts'

let server: TestServer

t.before(async () => {
  server = await startServer()
  await createSignedClient(server.port).send({ method: 'PUT', path: '/photos' })
})
t.teardown(() => server.remove())

interface Request {
  readonly method: string
  readonly path: string
  readonly query?: string
  readonly headers: Readonly<Record<string, string>>
  readonly payload: 'UNSIGNED-PAYLOAD' | 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
  readonly body?: string
}

/** Sends bytes as they are; resolves with everything received when the answer's head and document are there. */
function send({ method, path, query, headers, payload, body = '' }: Request): Promise<string> {
  const host = `127.0.0.1:${server.port}`
  const signed = signRequest(root, { method, host, path, query, headers, payload, nowMs: Date.now() }).headers
  const lines = Object.entries({ host, ...signed }).map(([name, value]) => `${name}: ${value}`)
  const target = query === undefined ? path : `${path}?${query}`
  return new Promise(done => {
    let received = ''
    const socket = connect(server.port, '127.0.0.1')
    socket.on('data', bytes => {
      received += bytes
      if (received.includes('</Error>') || received.includes('200 OK')) socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => done(received))
    socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  })
}

const streaming = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
const decoded = (length: number) => ({
  'content-encoding': 'aws-chunked',
  'x-amz-decoded-content-length': String(length),
})

for (const [count, expected] of [
  [4_000, /^HTTP\/1\.1 200 /],
  [50_000, /^HTTP\/1\.1 400 .*<Code>InvalidChunkSizeError</s],
] as const) {
  t.test(`${count} chunks of one byte, of aws-chunked`, async t => {
    const body = `${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`
    const headers = { ...decoded(count), 'content-length': String(body.length) }
    t.match(await send({ method: 'PUT', path: '/photos/a', headers, payload: streaming, body }), expected)
  })

  t.test(`${count} chunks of one byte, of HTTP`, async t => {
    const inner = `${count.toString(16)}\r\n${'x'.repeat(count)}\r\n0\r\n\r\n`
    const body = `${[...inner].map(character => `1\r\n${character}\r\n`).join('')}0\r\n\r\n`
    const headers = { ...decoded(count), 'transfer-encoding': 'chunked' }
    t.match(await send({ method: 'PUT', path: '/photos/b', headers, payload: streaming, body }), expected)
  })
}

t.test('a large body in small chunks is taken', async t => {
  const count = 40_000
  const body = `${`100\r\n${'x'.repeat(256)}\r\n`.repeat(count)}0\r\n\r\n`
  const headers = { ...decoded(256 * count), 'content-length': String(body.length) }
  t.match(await send({ method: 'PUT', path: '/photos/c', headers, payload: streaming, body }), /^HTTP\/1\.1 200 /)
})

t.test('the document of a completion is not asked for where there is no upload', async t => {
  const headers = { 'content-length': String(4 * 1024 * 1024), expect: '100-continue' }
  const query = `uploadId=${'0'.repeat(32)}`
  const answer = await send({ method: 'POST', path: '/photos/d', query, headers, payload: 'UNSIGNED-PAYLOAD' })
  t.match(answer, /^HTTP\/1\.1 404 .*<Code>NoSuchUpload</s)
})

t.test('parameters of a query are counted before the signature is computed over them', async t => {
  const query = 'a&'.repeat(5000)
  const answer = await send({ method: 'GET', path: '/photos', query, headers: {}, payload: 'UNSIGNED-PAYLOAD' })
  t.match(answer, /^HTTP\/1\.1 400 .*too many query parameters/s)
})
