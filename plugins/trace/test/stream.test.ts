/** The live trace over the Admin API. */
import { get, type IncomingMessage } from 'node:http'
import { rootPassword, rootUser, startAdmin, type TestAdmin } from 'svc/plugins/admin/testing'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import t from 'tap'

interface Stream {
  readonly answer: IncomingMessage
  /** Resolves when the text has come. */
  until(text: string): Promise<string>
  readonly closed: Promise<void>
  close(): void
}

function open(port: number, query: string, headers?: Record<string, string>): Promise<Stream> {
  const path = '/api/v1/trace'
  const { headers: signature } = signRequest(
    { accessKey: rootUser, secret: rootPassword, region: 'us-east-1' },
    { method: 'GET', host: `127.0.0.1:${port}`, path, query, headers: {}, nowMs: Date.now() },
  )
  return new Promise((done, fail) => {
    const sent = get(
      { host: '127.0.0.1', port, path: `${path}?${query}`, headers: headers ?? signature, agent: false },
      answer => {
        let text = ''
        answer.on('data', bytes => {
          text += bytes
        })
        answer.on('error', () => {})
        done({
          answer,
          async until(wanted) {
            while (!text.includes(wanted)) await new Promise(resolve => setTimeout(resolve, 5))
            return text
          },
          closed: new Promise(resolve => answer.on('close', resolve)),
          close: () => sent.destroy(),
        })
      },
    )
    sent.on('error', fail)
  })
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .filter(line => line.startsWith('data: '))
    .map(line => JSON.parse(line.slice(6)))

async function withServer(use: (server: TestAdmin) => Promise<void>): Promise<void> {
  const server = await startAdmin()
  try {
    await use(server)
  } finally {
    await server.stop()
  }
}

t.test('lines come as they happen, filtered, and without secrets', () =>
  withServer(async server => {
    const stream = await open(server.port, 'errors=true&type=admin,s3')
    t.equal(stream.answer.statusCode, 200)
    t.equal(stream.answer.headers['content-type'], 'text/event-stream')
    t.equal(stream.answer.headers['cache-control'], 'no-store')
    await server.signed({ path: '/api/v1/info' })
    await server.signed({ path: '/api/v1/buckets/missing' })
    await server.anonymous({ path: '/api/v1/info?X-Amz-Signature=planted-secret' })
    const text = await stream.until('getServerInfo')
    const lines = linesOf(text)
    t.match(lines[0], { type: 'admin', operation: 'getBucket', status: 404, user: rootUser, error: 'bucket_not_found' })
    t.match(lines[1], { operation: 'getServerInfo', status: 401, user: '' })
    t.equal(lines.length, 2)
    t.notMatch(text, 'planted-secret')
    t.match(text, /event: trace\nid: [^\n]+-0\n/)
    stream.close()
  }),
)

t.test('a stream ends with its session, and with the server', () =>
  withServer(async server => {
    const { cookie, call } = await server.login()
    const ofSession = await open(server.port, '', { cookie })
    const ofRoot = await open(server.port, 'api=logout')
    t.equal((await call({ method: 'POST', path: '/api/v1/auth/logout' })).status, 204)
    await ofSession.closed
    t.equal(linesOf(await ofRoot.until('logout')).length, 1, 'others go on')
    t.same(await server.kernel.drain(), [])
    await ofRoot.closed
  }),
)

t.test('at most 256 streams run at once, and a closed one frees its place', () =>
  withServer(async server => {
    const streams = await Promise.all(Array.from({ length: 256 }, () => open(server.port, 'api=none')))
    const refused = await server.signed({ path: '/api/v1/trace' })
    t.match(refused.json, { status: 429, code: 'too_many_requests' })
    t.ok(Number(refused.headers['retry-after']) >= 1)
    streams.pop()?.close()
    let again = await open(server.port, 'api=none')
    while (again.answer.statusCode === 429) again = await open(server.port, 'api=none')
    t.equal(again.answer.statusCode, 200)
    for (const stream of [...streams, again]) stream.close()
  }),
)
