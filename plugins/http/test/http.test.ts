/** The listeners over real sockets: heads, bodies, limits, slow clients, garbage, draining. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { Exchange } from 'svc/plugins/http/api'
import { createFakeClock, createSeededRandom, temporaryFolder, until } from 'svc/testing'
import t from 'tap'
import { connectRaw, echo, startServer } from './server.ts'

const get = (path: string, extra = ''): string => `GET ${path} HTTP/1.1\r\nHost: a.test\r\n${extra}\r\n`

function makeCertificate(folder: string): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', join(folder, 'private.key')]
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const certificate = ['-x509', '-nodes', '-days', '2', '-out', join(folder, 'public.crt')]
  execFileSync('openssl', ['req', ...key, ...names, ...certificate], { stdio: 'ignore' })
}

t.test('a request reaches the mount with its raw target, and every answer has its id', async t => {
  const server = await startServer()
  const client = await connectRaw(server.s3Port)
  await client.send(get('/b/a%2F..//%20?x=1&y', 'X-A: 1\r\nx-a: 2\r\n'))
  const text = await client.until('&y')
  const exchange = server.exchanges[0]
  t.match(text, /^HTTP\/1\.1 200 OK\r\n/)
  t.match(text, /GET \/b\/a%2F\.\.\/\/%20\?x=1&y$/)
  t.match(text, /\r\nServer: svc\r\n/)
  t.match(text, new RegExp(`\r\nx-amz-request-id: ${exchange.requestId}\r\n`))
  t.match(exchange.requestId, /^[0-9A-F]{16}$/)
  t.equal(exchange.clientAddress, '127.0.0.1')
  t.equal(exchange.host, 'a.test')
  t.equal(exchange.secure, false)
  t.equal(exchange.listener, 's3')
  t.equal(exchange.request.headers['x-a'], '1, 2', 'equal headers are joined, as signatures want them')
  await client.send(get('/again'))
  await client.until('GET /again')
  t.not(server.exchanges[1].requestId, exchange.requestId)
  t.same(Object.keys(server.kernel.announcements).sort(), ['console', 's3'])
  t.equal(server.kernel.announcements.s3, `127.0.0.1:${server.s3Port}`)
  client.socket.destroy()
  await server.stop()
})

t.test('the two headers of the server stay, in whatever way others are set', async t => {
  const server = await startServer({
    mount({ request, response }) {
      if (request.url === '/object') response.writeHead(201, { 'X-Way': 'object', 'Content-Length': 0 }).end()
      else if (request.url === '/reason')
        response.writeHead(202, 'Fine', { 'X-Way': 'reason', 'Content-Length': 0 }).end()
      else if (request.url === '/set') {
        response.setHeader('X-Way', 'set')
        response.writeHead(203, ['X-More', '1', 'Content-Length', '0'])
        response.end()
      } else response.end('implicit')
    },
  })
  for (const path of ['/object', '/reason', '/set', '/implicit']) {
    const answer = await fetch(`http://127.0.0.1:${server.s3Port}${path}`)
    await answer.text()
    t.equal(answer.headers.get('server'), 'svc', path)
    t.match(answer.headers.get('x-amz-request-id'), /^[0-9A-F]{16}$/, path)
    if (path !== '/implicit') t.equal(answer.headers.get('x-way'), path.slice(1))
    if (path === '/set') t.equal(answer.headers.get('x-more'), '1')
    if (path === '/reason') t.equal(answer.statusText, 'Fine')
  }
  await server.stop()
})

t.test('paths under /svc/ belong to Fastify, on the console all paths do', async t => {
  const server = await startServer({
    routes: {
      listeners: ['s3', 'console'],
      plugin(fastify, _options, done) {
        fastify.get('/svc/who', { config: { operation: 'Who' } }, async request => ({
          address: request.exchange.clientAddress,
          id: request.id,
        }))
        fastify.post('/svc/body', async ({ body }) => ({ body }))
        fastify.get('/svc/broken', async () => {
          throw new Error('the password is hunter2')
        })
        done()
      },
    },
  })
  for (const port of [server.s3Port, server.consolePort]) {
    const answer = await fetch(`http://127.0.0.1:${port}/svc/who?token=1`, { headers: { authorization: 'Bearer x' } })
    const body = (await answer.json()) as { address: string; id: string }
    t.equal(body.address, '127.0.0.1')
    t.equal(answer.headers.get('x-amz-request-id'), body.id)
    const missing = await fetch(`http://127.0.0.1:${port}/svc/nothing`)
    t.equal(missing.status, 404)
    t.equal(missing.headers.get('content-type'), 'application/problem+json')
    t.match(await missing.json(), { status: 404, code: 'not_found', requestId: /^[0-9A-F]{16}$/ })
    const broken = await fetch(`http://127.0.0.1:${port}/svc/broken`)
    t.equal(broken.status, 500)
    t.notMatch(await broken.text(), /hunter2/)
  }
  t.equal(server.exchanges.length, 0, 'nothing of it passed the mount')
  t.equal((await fetch(`http://127.0.0.1:${server.consolePort}/b/k`)).status, 404)
  t.equal(await (await fetch(`http://127.0.0.1:${server.s3Port}/svc`)).text(), 'GET /svc')
  const bad = await connectRaw(server.consolePort)
  await bad.send(get('/%zz'))
  t.match(await bad.until('}'), /^HTTP\/1\.1 400 .*application\/problem\+json/s)
  bad.socket.destroy()
  // Fastify's own parser reads to the end of a body, and there is neither.
  for (const [head, answer] of [
    ['Content-Type: application/json', /^HTTP\/1\.1 400 /],
    ['Content-Type: application/json\r\nContent-Length: 2', /^HTTP\/1\.1 200 .*\{"body":\{\}\}$/s],
  ] as const) {
    const poster = await connectRaw(server.s3Port)
    await poster.send(
      `POST /svc/body HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${head}\r\n\r\n${head.includes('Length') ? '{}' : ''}`,
    )
    t.match(await poster.closed(), answer, head)
  }
  for (let tries = 0; tries < 9000 && server.records.length < 2; tries++) await delay(10)
  t.match(server.records[0], {
    operation: 'Who',
    path: '/svc/who',
    query: 'token=1',
    presentsCredentials: true,
    status: 200,
    method: 'GET',
    clientAddress: '127.0.0.1',
  })
  t.equal(server.records[1].presentsCredentials, false)
  await server.stop()
})

t.test('100-continue is answered only when a handler reads the body', async t => {
  let received = ''
  const server = await startServer({
    mount(exchange) {
      const { request, response } = exchange
      if (request.url === '/refuse') return void response.writeHead(403, ['Content-Length', '0']).end()
      exchange.continue()
      exchange.continue()
      request.on('data', data => {
        received += data
      })
      request.on('end', () => echo(exchange))
    },
  })
  const expecting = (path: string, expectation = '100-continue'): string =>
    `PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: ${expectation}\r\n\r\n`
  const wanted = await connectRaw(server.s3Port)
  await wanted.send(expecting('/take'))
  const interim = await wanted.until('\r\n\r\n')
  t.equal(interim, 'HTTP/1.1 100 Continue\r\n\r\n', 'exactly one interim answer, and nothing before it')
  await wanted.send('body')
  await wanted.until('PUT /take')
  t.equal(received, 'body')
  wanted.socket.destroy()

  const refused = await connectRaw(server.s3Port)
  await refused.send(expecting('/refuse'))
  const answer = await refused.closed()
  t.match(answer, /^HTTP\/1\.1 403 /)
  t.match(answer, /\r\nConnection: close\r\n/, 'the body may or may not follow: the connection cannot be used on')

  const odd = await connectRaw(server.s3Port)
  await odd.send(`${expecting('/take', '200-ok')}body`)
  t.match(await odd.until('PUT /take'), /^HTTP\/1\.1 200 /, 'another expectation is ignored')
  odd.socket.destroy()
  await server.stop()
})

t.test('nothing behind a request for another protocol is taken for a request', async t => {
  const server = await startServer({
    async mount(exchange) {
      await delay(100)
      echo(exchange)
    },
  })
  t.teardown(() => server.stop())
  const client = await connectRaw(server.s3Port)
  const upgrade = get('/upgrade', 'Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n')
  const body = get('/body')
  // Node.js has dropped the head when the body comes.
  await client.send(upgrade + get('/put', `Content-Length: ${body.length}\r\n`))
  await delay(20)
  await client.send(body)
  const text = await client.closed()
  t.match(text, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\nConnection: close\r\n[\s\S]*GET \/upgrade$/)
  t.same(
    server.exchanges.map(({ request }) => request.url),
    ['/upgrade'],
  )
  const other = await connectRaw(server.s3Port)
  await other.send(get('/without', 'Upgrade: websocket\r\n') + get('/next'))
  await other.until('GET /next')
  other.socket.destroy()
})

t.test('headers that HTTP/2 has no place for make one answer a defect, and the server goes on', async t => {
  const folder = temporaryFolder(t)
  makeCertificate(folder)
  const server = await startServer({
    tls: { certsDir: folder },
    async mount(exchange) {
      const { url } = exchange.request
      if (url === '/') return echo(exchange)
      if (url === '/later') await delay(1)
      exchange.response.writeHead(200, ['X-Own', 'a', 'HTTP2-Settings', 'a', 'Content-Length', '0'])
      exchange.response.end()
    },
  })
  t.teardown(() => server.stop())
  const session = connectHttp2(`https://127.0.0.1:${server.s3Port}`, { rejectUnauthorized: false })
  t.teardown(() => session.destroy())
  for (const [path, status] of Object.entries({ '/at-once': 500, '/later': 500, '/': 200 })) {
    const stream = session.request({ ':path': path })
    const [headers] = await once(stream, 'response')
    t.match(headers, { ':status': status, server: 'svc', 'x-amz-request-id': /^[0-9A-F]{16}$/ }, path)
    t.equal(headers['x-own'], undefined, 'nothing of the answer that could not be written is left')
    t.match((await stream.toArray()).join(''), status === 500 ? /InternalError/ : /GET/)
  }
})

t.test('the expectation is recognized in upper and lower case, over HTTP/1.1 and HTTP/2', async t => {
  const folder = temporaryFolder(t)
  makeCertificate(folder)
  const mount = (exchange: Exchange) => {
    exchange.continue()
    exchange.request.resume().on('end', () => echo(exchange))
  }
  const plain = await startServer({ mount })
  const secure = await startServer({ mount, tls: { certsDir: folder } })
  const session = connectHttp2(`https://127.0.0.1:${secure.s3Port}`, { rejectUnauthorized: false })
  for (const expect of ['100-continue', '100-Continue', '100-CONTINUE']) {
    const client = await connectRaw(plain.s3Port)
    await client.send(`PUT /take HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: ${expect}\r\n\r\n`)
    t.equal(await client.until('\r\n\r\n'), 'HTTP/1.1 100 Continue\r\n\r\n', expect)
    await client.send('body')
    t.match(await client.until('PUT /take'), /HTTP\/1\.1 200 OK/)
    client.socket.destroy()

    const stream = session.request({ ':method': 'PUT', ':path': '/take', expect })
    // Only after 100-continue, like clients that wait for it.
    stream.once('continue', () => stream.end('body'))
    const status = await new Promise((resolve, reject) => {
      stream.once('response', headers => resolve(headers[':status']))
      stream.once('error', reject)
    })
    t.equal(status, 200, `${expect} over HTTP/2`)
    stream.resume()
    if (!stream.writableEnded) stream.end()
    await once(stream, 'close')
  }
  const odd = session.request({ ':method': 'PUT', ':path': '/take', expect: '200-ok' })
  odd.end('body')
  const [headers] = await once(odd, 'response')
  t.equal(headers[':status'], 200, 'another expectation is ignored')
  odd.destroy()
  session.destroy()
  await plain.stop()
  await secure.stop()
})

t.test('malformed heads get a well-formed answer', async t => {
  const server = await startServer()
  const cases: [name: string, bytes: string | Buffer, s3: RegExp, console: RegExp][] = [
    [
      'no HTTP',
      'hello\r\n\r\n',
      /^HTTP\/1\.1 400 .*<Code>BadRequest</s,
      /^HTTP\/1\.1 400 .*"code":"invalid_argument"/s,
    ],
    [
      'raw bytes in the target',
      Buffer.from('GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n', 'latin1'),
      / 400 .*<Code>BadRequest</s,
      / 400 /,
    ],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', / 400 .*<Code>BadRequest</s, / 400 /],
    ['two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', / 400 .*<Code>BadRequest</s, / 400 /],
    [
      'two Hosts beside an absolute target',
      'GET http://c/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
      / 400 .*<Code>BadRequest</s,
      / 400 /,
    ],
    ['two lengths', 'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', / 400 /, / 400 /],
    [
      'length and chunks',
      'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      / 400 /,
      / 400 /,
    ],
    ['bare line feeds in a header', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\nb\r\n\r\n', / 400 /, / 400 /],
    [
      'headers too large',
      get('/', `X: ${'x'.repeat(40_000)}\r\n`),
      / 400 .*<Code>RequestHeaderSectionTooLarge</s,
      / 431 /,
    ],
    ['target too long', get(`/${'x'.repeat(40_000)}`), / 400 .*<Code>RequestHeaderSectionTooLarge</s, / 431 /],
    [
      'chunks in HTTP/1.0',
      'PUT /x HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      / 400 /,
      / 400 /,
    ],
    [
      'another coding than chunks',
      'PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
      / 400 /,
      / 400 /,
    ],
    ['asterisk form is a request like any other', 'FOO * HTTP/1.1\r\nHost: a\r\n\r\n', / 400 /, / 400 /],
  ]
  for (const [name, bytes, s3, console] of cases) {
    for (const [port, expected] of [
      [server.s3Port, s3],
      [server.consolePort, console],
    ] as const) {
      const client = await connectRaw(port)
      await client.send(bytes)
      const text = await client.closed()
      t.match(text, expected, name)
      const [head, ...rest] = text.split('\r\n\r\n')
      const length = /content-length: (\d+)/i.exec(head)?.[1]
      t.equal(rest.join('\r\n\r\n').length, Number(length), `${name}: the length is right`)
      if (port === server.s3Port) t.match(head, /x-amz-request-id: [0-9A-F]{16}/, name)
    }
  }
  const proxyForm = await connectRaw(server.s3Port)
  await proxyForm.send('GET http://b.test:80/p?q HTTP/1.1\r\nHost: a\r\n\r\n')
  t.match(await proxyForm.until('/p?q'), /GET \/p\?q$/, 'absolute targets are served')
  t.equal(server.exchanges.at(-1)?.host, 'b.test:80')
  await proxyForm.send('GET / HTTP/1.0\r\n\r\n')
  t.match(await proxyForm.closed(), /GET \/$/, 'HTTP/1.0 needs no Host')
  const large = await connectRaw(server.s3Port)
  await large.send(get('/', `X: ${'x'.repeat(30_000)}\r\n`))
  await large.until('GET /')
  large.socket.destroy()
  await server.stop()
})

t.test('random bytes never stop the server and only get errors', async t => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  const random = createSeededRandom(seed)
  const server = await startServer({ config: { headerTimeout: 500 } })
  const pieces = ['GET ', 'PUT /', ' HTTP/1.1', '\r\n', '\n', 'Host: a', 'Content-Length: ', '99999999999999999999', ':',
    'Transfer-Encoding: chunked\r\n\r\n', 'ffffffffffffffff\r\n', '0\r\n\r\n', '\0', 'Expect: 100-continue\r\n', 'PROXY TCP4 ', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '%', '\t'] // biome-ignore format: a list
  for (let round = 0; round < 150; round++) {
    const parts: Buffer[] = []
    for (let index = random.integer(12) + 1; index > 0; index--) {
      parts.push(random.float() < 0.3 ? random.bytes(random.integer(200)) : Buffer.from(random.pick(pieces)))
    }
    const client = await connectRaw(random.float() < 0.5 ? server.s3Port : server.consolePort)
    await client.send(Buffer.concat(parts))
    client.socket.end()
    const text = await client.closed()
    if (text !== '' && !/^(HTTP\/1\.1 (100 Continue\r\n\r\n)?(HTTP\/1\.1 )?[2345]\d\d )/.test(text)) {
      t.fail(`seed ${seed}, round ${round}: answered ${JSON.stringify(text)}`)
    }
  }
  t.equal((await fetch(`http://127.0.0.1:${server.s3Port}/fine`)).status, 200, `alive (seed ${seed})`)
  t.notOk(
    server.kernel.logs.some(line => line.level === 'error'),
    `no defect logged (seed ${seed})`,
  )
  await server.stop()
})

t.test('answers that wait for others on a connection that breaks off are closed, each once', async t => {
  const closed = new Map<string, number>()
  const told: string[] = []
  const secure = { certsDir: temporaryFolder(t) }
  makeCertificate(secure.certsDir)
  for (const tls of [undefined, secure]) {
    closed.clear()
    told.length = 0
    const server = await startServer({
      ...(tls && { tls }),
      mount({ request, response }) {
        const path = request.url!
        closed.set(path, 0)
        response.on('close', () => {
          closed.set(path, closed.get(path)! + 1)
          if (response.destroyed) told.push(path)
        })
        if (path === '/first') response.writeHead(200, ['Content-Length', '1000']).write('x')
        else if (path === '/ended') echo({ request, response } as Exchange)
        else if (path === '/begun') response.writeHead(200, ['Content-Length', '1000']).write('x')
      },
    })
    const socket: Socket = tls
      ? connectTls({ port: server.s3Port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
      : connect(server.s3Port, '127.0.0.1')
    await once(socket, tls ? 'secureConnect' : 'connect')
    socket.write(['/first', '/ended', '/begun', '/unanswered'].map(path => get(path)).join(''))
    while (closed.size < 4) await delay(5)
    socket.destroy()
    while ([...closed.values()].includes(0)) await delay(5)
    await delay(50)
    t.same([...closed.values()], [1, 1, 1, 1])
    t.same(told.sort(), ['/begun', '/ended', '/first', '/unanswered'])
    await server.stop()
  }
})

t.test('slow clients are disconnected: heads, bodies, readers', async t => {
  const chunk = Buffer.alloc(256 * 1024)
  let closedSender = 0
  const server = await startServer({
    config: { headerTimeout: 500, bodyTimeout: 400, sendTimeout: 400, keepAliveTimeout: 300 },
    mount(exchange) {
      const { request, response } = exchange
      if (request.url === '/endless') {
        response.writeHead(200, ['Content-Length', String(2 ** 40)])
        const pump = (): void => {
          while (!response.destroyed && response.write(chunk));
        }
        response.on('drain', pump)
        response.on('close', () => closedSender++)
        pump()
      } else if (request.url === '/late-answer') {
        request.on('data', () => {})
        request.on('error', () => {})
        setTimeout(() => echo(exchange), 2500)
      } else if (request.url === '/slow-work') {
        setTimeout(() => echo(exchange), 1500)
      } else {
        if (request.readableEnded) return echo(exchange)
        request.on('data', () => {})
        request.on('end', () => echo(exchange))
      }
    },
  })
  const open = () => connectRaw(server.s3Port)
  const [head, body, reader, work, trickle, idle] = await Promise.all([open(), open(), open(), open(), open(), open()])
  await head.send('GET / HTTP/1.1\r\nHos')
  await body.send('PUT /body HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345')
  reader.socket.pause()
  await reader.send(get('/endless'))
  await work.send(get('/slow-work'))
  await trickle.send('PUT /trickle HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n')
  await idle.send(get('/idle'))
  const startedMs = Date.now()
  const trickled = (async () => {
    for (let index = 0; index < 8; index++) {
      await delay(200)
      await trickle.send('x')
    }
    return trickle.until('PUT /trickle')
  })()
  t.match(await head.closed(), /^HTTP\/1\.1 400 .*<Code>RequestTimeout</s, 'an unfinished head')
  t.match(await body.closed(), /^HTTP\/1\.1 400 .*<Code>RequestTimeout</s, 'a body that stops')
  const late = await open()
  await late.send('PUT /late-answer HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345')
  const lateAnswer = await late.closed()
  t.match(lateAnswer, /<Code>RequestTimeout</)
  t.equal(lateAnswer.match(/HTTP\/1\.1/g)?.length, 1, 'an answer that comes too late is not sent as well')
  t.match(await idle.closed(), /GET \/idle$/, 'an idle connection is closed without a word')
  await work.until('GET /slow-work')
  t.ok(Date.now() - startedMs >= 1400, 'slow work is not the client’s fault')
  await trickled
  t.pass('a slow body that moves is read to its end')
  for (let waited = 0; closedSender === 0 && waited < 900; waited++) await delay(100)
  t.equal(closedSender, 1, 'an answer that nobody reads is aborted')
  for (const { socket } of [head, body, reader, work, trickle, idle]) socket.destroy()
  await server.stop()
})

t.test('a connection that was silent for long serves the next request, and waits for its body as for any', async t => {
  const server = await startServer({
    config: { bodyTimeout: 400, sendTimeout: 400, keepAliveTimeout: 20_000 },
    mount(exchange) {
      if (exchange.request.readableEnded) echo(exchange)
      else exchange.request.resume()
    },
  })
  const client = await connectRaw(server.s3Port)
  await client.send(get('/first'))
  t.match(await client.until('GET /first'), /\r\nKeep-Alive: timeout=20\r\n/)
  // Several steps of the check.
  await delay(600)
  await client.send(get('/second'))
  await client.until('GET /second')
  await client.send('PUT /body HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345')
  t.match(await client.closed(), /<Code>RequestTimeout</)
  await server.stop()
})

t.test('draining: requests under way are finished, new ones are refused, idle connections are closed', async t => {
  let release: () => void = () => {}
  const server = await startServer({
    mount(exchange) {
      const { request, response } = exchange
      if (request.url === '/held') release = () => echo(exchange)
      else if (exchange.draining) response.writeHead(503, ['Content-Length', '0']).end()
      else echo(exchange)
    },
  })
  const [held, idle] = await Promise.all([connectRaw(server.s3Port), connectRaw(server.s3Port)])
  await idle.send(get('/'))
  await idle.until('GET /')
  await held.send(get('/held'))
  while (server.exchanges.length < 2) await delay(5)
  const drained = server.kernel.drain()
  await idle.closed()
  const late = await connectRaw(server.s3Port)
  await late.send(get('/late'))
  const refusal = await late.closed()
  t.match(refusal, /^HTTP\/1\.1 503 /)
  t.match(refusal, /\r\nConnection: close\r\n/)
  const admin = await connectRaw(server.consolePort)
  await admin.send(get('/api/v1/info'))
  t.match(await admin.closed(), /^HTTP\/1\.1 503 .*"code":"service_unavailable"/s)
  t.equal(await Promise.race([drained.then(() => 'drained'), delay(100, 'waiting')]), 'waiting')
  release()
  const answer = await held.closed()
  t.match(answer, /^HTTP\/1\.1 200 .*Connection: close.*GET \/held$/s)
  t.same(await drained, [])
  await server.stop()
  await t.rejects(connectRaw(server.s3Port), { code: 'ECONNREFUSED' })
})

t.test('requests that take longer than a stop may are cut off, which is a warning and no failure', async t => {
  const clock = createFakeClock(0)
  const server = await startServer({ mount() {}, ports: { clock } })
  const slow = await connectRaw(server.s3Port)
  await slow.send(get('/slow'))
  await until(() => server.exchanges.length > 0)
  const { stopTimeoutMs } = server.kernel.services.kernel
  const drained = server.kernel.drain()
  await clock.advance(0.9 * stopTimeoutMs)
  t.equal(await Promise.race([drained.then(() => 'drained'), delay(50, 'waiting')]), 'waiting')
  await clock.advance(0.09 * stopTimeoutMs)
  t.same(await drained, [])
  t.match(
    server.kernel.logs.filter(({ level }) => level === 'warn' || level === 'error'),
    [{ plugin: 'http', level: 'warn', requests: 1, msg: /^requests are cut off/ }],
  )
  await server.stop()
  t.match(await slow.closed(), '')
})

t.test('stop ends remaining requests, and does not wait for answers of closed connections', async t => {
  const server = await startServer({ mount() {} })
  const stuck = await connectRaw(server.s3Port)
  await stuck.send(get('/stuck'))
  const gone = await connectRaw(server.s3Port)
  await gone.send(get('/1') + get('/2') + get('/3'))
  while (server.exchanges.length < 4) await delay(5)
  gone.socket.destroy()
  stuck.socket.destroy()
  await stuck.closed()
  t.same(await server.kernel.drain(), [], 'nothing is left to wait for')
  await server.stop()

  const other = await startServer({ mount() {} })
  const never = await connectRaw(other.s3Port)
  await never.send(get('/never'))
  while (other.exchanges.length < 1) await delay(5)
  const drained = other.kernel.drain()
  t.equal(await Promise.race([drained.then(() => 'drained'), delay(50, 'waiting')]), 'waiting')
  const stopped = other.kernel.stop()
  never.socket.destroy()
  t.same(await stopped, [])
})

t.test('a handler that fails is answered, logged with the request id, and reveals nothing', async t => {
  const server = await startServer({
    mount({ request }) {
      if (request.url === '/sync') throw new Error('hunter2')
      return Promise.reject(new Error('hunter2'))
    },
  })
  for (const path of ['/sync', '/async']) {
    const answer = await fetch(`http://127.0.0.1:${server.s3Port}${path}`)
    const text = await answer.text()
    t.equal(answer.status, 500)
    t.match(text, /<Code>InternalError</)
    t.notMatch(text, /hunter2/)
    const id = answer.headers.get('x-amz-request-id')
    t.ok(server.kernel.logs.some(line => line.level === 'error' && line.requestId === id))
  }
  await server.stop()
})

t.test('a handler that goes on after its answer is logged by the name of its operation, and harms nobody', async t => {
  const folder = temporaryFolder(t)
  makeCertificate(folder)
  const late: Record<string, (exchange: Exchange) => void> = {
    end: ({ response }) => response.end('second'),
    write: ({ response }) => response.write('second'),
    writeHead: ({ response }) => response.writeHead(500, { 'content-length': 6 }),
    throw: () => {
      throw new Error('hunter2')
    },
  }
  const mount = async (exchange: Exchange) => {
    const [, call, when] = exchange.request.url!.split('/')
    exchange.operation = 'TestOperation'
    exchange.response.end('first')
    if (when === 'later') await delay(20)
    late[call!]!(exchange)
  }
  const plain = await startServer({ mount })
  const secure = await startServer({ mount, tls: { certsDir: folder } })
  const session = connectHttp2(`https://127.0.0.1:${secure.s3Port}`, { rejectUnauthorized: false })
  const errorsOf = (server: typeof plain) => server.kernel.logs.filter(({ level }) => level === 'error')
  for (const call of Object.keys(late)) {
    for (const when of ['at-once', 'later']) {
      const answer = await fetch(`http://127.0.0.1:${plain.s3Port}/${call}/${when}`)
      t.same([answer.status, await answer.text()], [200, 'first'], `${call}, ${when}`)
      const id = answer.headers.get('x-amz-request-id')
      for (let tries = 0; tries < 100 && !errorsOf(plain).some(line => line.requestId === id); tries++) await delay(10)
      const said = errorsOf(plain).filter(({ requestId }) => requestId === id)
      t.equal(said.length, 1, 'said once')
      if (call !== 'throw') t.match(said[0], { operation: 'TestOperation', msg: /^defect: / })
      // The head of HTTP/2 is a header of its own: late ones throw, as for every handler.
      const stream = session.request({ ':path': `/${call}/${when}` })
      const [headers] = await once(stream, 'response')
      t.equal(headers[':status'], 200, `${call}, ${when}, over HTTP/2`)
      t.equal((await stream.toArray()).join(''), 'first')
    }
  }
  for (let tries = 0; tries < 100 && errorsOf(secure).length < 6; tries++) await delay(10)
  t.ok(errorsOf(secure).length >= 6, 'over HTTP/2, too')
  session.destroy()
  await plain.stop()
  await secure.stop()
})

t.test('more connections than allowed are closed at once', async t => {
  const server = await startServer({ config: { connectionsMax: 2 } })
  const [first, second] = await Promise.all([connectRaw(server.s3Port), connectRaw(server.s3Port)])
  await first.send(get('/1'))
  await first.until('GET /1')
  const third = await connectRaw(server.s3Port)
  t.equal(await third.closed(), '')
  second.socket.destroy()
  await second.closed()
  // The server hears of the end a little later than we do.
  let answered = ''
  for (let tries = 0; tries < 9000 && !answered.includes('GET /4'); tries++) {
    await delay(10)
    const fourth = await connectRaw(server.s3Port)
    await fourth.send('GET /4 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n').catch(() => {})
    answered = await fourth.closed()
  }
  t.match(answered, /GET \/4/)
  first.socket.destroy()
  await server.stop()
})

t.test('whoever fills a listener with half a head on each connection keeps nobody else out', async t => {
  const server = await startServer({ config: { connectionsMax: 32 } })
  const half = async () => {
    const client = await connectRaw(server.s3Port)
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n').catch(() => {})
    return client
  }
  const kept = await connectRaw(server.s3Port)
  await kept.send(get('/first'))
  await kept.until('GET /first')
  const halves = []
  for (let count = 0; count < 80; count++) halves.push(await half())
  for (let round = 0; round < 5; round++) {
    const other = await connectRaw(server.s3Port)
    await other.send(`GET /other-${round} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    t.match(await other.closed(), new RegExp(`GET /other-${round}`))
    for (let count = 0; count < 10; count++) halves.push(await half())
  }
  await kept.send(get('/again'))
  t.match(await kept.until('GET /again'), /GET \/again/, 'one that has sent a head is not closed for them')
  for (const { socket } of [kept, ...halves]) socket.destroy()
  await server.stop()
})

t.test('an address that cannot be bound stops the start, by name', async t => {
  const server = await startServer()
  await t.rejects(startServer({ config: { address: `127.0.0.1:${server.s3Port}` } }), {
    message: new RegExp(`127\\.0\\.0\\.1:${server.s3Port}: the address is in use; SVC_ADDRESS sets another one$`),
  })
  await t.rejects(startServer({ config: { consoleAddress: `127.0.0.1:${server.s3Port}` } }), {
    message: /the address is in use; SVC_CONSOLE_ADDRESS sets another one$/,
  })
  await server.stop()
  const refused: [unknown, RegExp][] = [
    [{ address: '9000' }, /no port/],
    [{ address: 'a:99999' }, /99999/],
    [{ address: '::1:9000' }, /brackets/],
    [{ trustedProxies: ['10.0.0.0/33'] }, /prefix/],
    [{ trustedProxies: ['proxy.test'] }, /neither/],
    [{ proxyProtocol: ['s3'] }, /SVC_TRUSTED_PROXIES/],
    [{ trustForwardedHost: true }, /SVC_TRUSTED_PROXIES/],
  ]
  for (const [config, message] of refused) {
    await t.rejects(startServer({ config: config as Record<string, unknown> }), { message }, JSON.stringify(config))
  }
})
