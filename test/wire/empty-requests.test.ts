/** Requests that announce no body, where one is wanted or may be: each is answered, and at once. */
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

/** Neither `Content-Length` nor `Transfer-Encoding`. Resolves with the status line of the answer. */
function ask(port: number, head: string): Promise<string> {
  return new Promise((done, fail) => {
    let received = ''
    const socket = connect(port, '127.0.0.1')
    socket.on('data', bytes => {
      received += bytes
    })
    socket.on('error', fail)
    socket.on('close', () => done(received.split('\r\n')[0]!))
    socket.write(`${head}\r\nConnection: close\r\n\r\n`)
  })
}

function askSigned(method: string, path: string, query = '', headers: Record<string, string> = {}): Promise<string> {
  const host = `127.0.0.1:${server.port}`
  const payload = 'UNSIGNED-PAYLOAD'
  const signed = signRequest(root, { method, host, path, query, headers, payload, nowMs: Date.now() }).headers
  const lines = Object.entries({ host, ...signed }).map(([name, value]) => `${name}: ${value}`)
  return ask(server.port, `${method} ${query === '' ? path : `${path}?${query}`} HTTP/1.1\r\n${lines.join('\r\n')}`)
}

t.test('S3: operations that need no body work, and the others say what they lack', async t => {
  t.equal(await askSigned('PUT', '/empty-bucket'), 'HTTP/1.1 200 OK')
  t.equal(await askSigned('POST', '/photos/key', 'uploads='), 'HTTP/1.1 200 OK')
  t.equal(await askSigned('GET', '/photos/none'), 'HTTP/1.1 404 Not Found')
  t.equal(await askSigned('DELETE', '/photos/none'), 'HTTP/1.1 204 No Content')
  for (const [method, path, query] of [
    ['PUT', '/photos/key', ''],
    ['PUT', '/photos', 'tagging='],
    ['PUT', '/photos', 'cors='],
    ['PUT', '/photos', 'policy='],
    ['POST', '/photos', 'delete='],
    ['PUT', '/photos/key', 'partNumber=1&uploadId=none'],
    ['POST', '/photos', ''],
  ] as const)
    t.match(await askSigned(method, path, query), /^HTTP\/1\.1 4\d\d /, `${method} ${path} ${query}`)
})

t.test('the Admin API and the console: with and without a media type', async t => {
  const ports = [server.port, Number(String(server.startup.console).split(':').at(-1))]
  for (const type of ['', '\r\nContent-Type: application/json', '\r\nContent-Type: application/x-www-form-urlencoded'])
    for (const path of ['/api/v1/buckets', '/svc/console/session', '/api/v1/nothing'])
      for (const port of ports)
        t.match(await ask(port, `POST ${path} HTTP/1.1\r\nHost: a${type}`), /^HTTP\/1\.1 4\d\d /, `${path}${type}`)
})
