/** Bodies that are read from the socket into memory of the caller: right and wrong answers, byte by byte. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { parseAnswerHead } from '../s3/answer-head.ts'
import { createClient } from '../s3/client.ts'
import { type Connection, type ConnectionOptions, createConnection } from '../s3/connection.ts'
import type { HttpAnswer } from '../s3/messages.ts'
import { readObject } from '../s3/read-object.ts'

const MIB = 1 << 20

interface Script {
  readonly origin: string
  /** Heads of requests, in order. */
  readonly seen: string[]
  connectionCount(): number
}

interface Pair {
  readonly key: Buffer
  readonly cert: Buffer
}

/** A server that answers each request as it is told, with bytes. */
async function startScript(
  t: Test,
  answer: (socket: Socket, index: number) => void | Promise<void>,
  pair?: Pair,
): Promise<Script> {
  const seen: string[] = []
  const sockets = new Set<Socket>()
  const onConnection = (socket: Socket) => {
    sockets.add(socket)
    let text = ''
    socket.on('error', () => undefined)
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
        seen.push(text.slice(0, end))
        text = text.slice(end + 4)
        void answer(socket, seen.length - 1)
      }
    })
  }
  const server: Server = pair === undefined ? createServer(onConnection) : createTlsServer(pair, onConnection)
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    origin: `http${pair === undefined ? '' : 's'}://127.0.0.1:${port}`,
    seen,
    connectionCount: () => sockets.size,
  }
}

function connectTo(t: Test, { origin }: Script, options: Partial<ConnectionOptions> = {}): Connection {
  const connection = createConnection({
    origin,
    connectionCount: 2,
    timeoutMs: 5000,
    ca: undefined,
    isInsecure: false,
    ...options,
  })
  t.teardown(() => connection.close())
  return connection
}

interface Read extends HttpAnswer {
  readonly content: Buffer
  readonly startCount: number
}

interface ReadOptions {
  readonly roomBytes?: number
  /** How long the sink takes with each piece of its room. */
  readonly busyMs?: number
  readonly signal?: AbortSignal
  readonly headers?: Record<string, string>
}

async function read(connection: Connection, options: ReadOptions = {}): Promise<Read> {
  const { roomBytes = MIB, busyMs, signal, headers = {} } = options
  const buffer = Buffer.alloc(roomBytes)
  const pieces: Buffer[] = []
  let isBusy = false
  let startCount = 0
  const answer = await connection.send({
    method: 'GET',
    path: '/bucket/key',
    headers: { host: 'x', ...headers },
    signal,
    sink: {
      start() {
        startCount++
      },
      room() {
        if (isBusy) throw new Error('the sink is busy and was asked for room')
        return buffer
      },
      filled(byteCount) {
        if (isBusy) throw new Error('the sink is busy and was given more')
        const before = Buffer.from(buffer.subarray(0, byteCount))
        pieces.push(before)
        if (busyMs === undefined) return undefined
        isBusy = true
        return sleep(busyMs).then(() => {
          isBusy = false
          if (!before.equals(buffer.subarray(0, byteCount))) throw new Error('overwritten while the sink had it')
        })
      },
    },
  })
  return { ...answer, content: Buffer.concat(pieces), startCount }
}

const headOf = (byteCount: number, more = '') =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${byteCount}\r\nETag: "e"\r\n${more}\r\n`

t.test('heads are read as HTTP/1.1 has them, and nothing else is', async t => {
  const head = parseAnswerHead('HTTP/1.1 206 \r\nETag:"a"\r\nX-A: 1 \t\r\nx-a:\t2\r\ncontent-LENGTH: 7\r\n__proto__: x')
  t.match(head, { status: 206, bodyBytes: 7, isKept: true })
  t.same({ ...head.headers }, { etag: '"a"', 'x-a': '1, 2', 'content-length': '7', ['__proto__']: 'x' })
  t.equal(parseAnswerHead('HTTP/1.0 200 OK\r\nContent-Length: 0').isKept, false)
  t.equal(parseAnswerHead('HTTP/1.1 200 OK\r\nConnection: x, Close').isKept, false)
  t.equal(parseAnswerHead('HTTP/1.1 200').bodyBytes, undefined)
  t.equal(parseAnswerHead('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked').bodyBytes, undefined)
  t.equal(parseAnswerHead('HTTP/1.1 304 Not Modified\r\nETag: "a"').bodyBytes, 0)
  for (const text of [
    '',
    'HTTP/2 200 OK',
    'HTTP/1.1 20 OK',
    'HTTP/1.1 600 OK',
    'HTTP/1.1  200 OK',
    'http/1.1 200 OK',
    'HTTP/1.1 200 O\x00K',
    'HTTP/1.1 200 OK\nA: b',
    'HTTP/1.1 200 OK\r\nA: b\nC: d',
    'HTTP/1.1 200 OK\r\nA: b\rC: d',
    'HTTP/1.1 200 OK\r\nA : b',
    'HTTP/1.1 200 OK\r\n: b',
    'HTTP/1.1 200 OK\r\nA: b\r\n c',
    'HTTP/1.1 200 OK\r\nno colon',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1',
    'HTTP/1.1 200 OK\r\nContent-Length: 1, 1',
    'HTTP/1.1 200 OK\r\nContent-Length: -1',
    'HTTP/1.1 200 OK\r\nContent-Length: 0x1',
    'HTTP/1.1 200 OK\r\nContent-Length: ',
    'HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked',
    `HTTP/1.1 200 OK${'\r\nA: b'.repeat(300)}`,
  ]) {
    t.throws(() => parseAnswerHead(text), { code: 'HTTP_BAD_HEAD' }, JSON.stringify(text.slice(0, 60)))
  }
})

t.test('heads in pieces, interim answers, errors with documents, one connection for all', async t => {
  const content = randomBytes(300_000)
  const script = await startScript(t, async (socket, index) => {
    if (index === 0) {
      for (const byte of Buffer.from(`HTTP/1.1 103 Early\r\nA: b\r\n\r\n${headOf(3)}abc`)) {
        socket.write(Buffer.of(byte))
        await sleep(1)
      }
    } else if (index === 1) {
      socket.write(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\n${headOf(content.length)}`)
      socket.write(content)
    } else if (index === 2) socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 8\r\n\r\n<Error/>')
    else if (index === 3) socket.write(headOf(0))
    else socket.write('HTTP/1.1 204 No Content\r\n\r\n')
  })
  const connection = connectTo(t, script)
  const first = await read(connection)
  t.match(first, { status: 200, startCount: 1, headers: { etag: '"e"' } })
  t.equal(String(first.content), 'abc')
  t.ok((await read(connection, { roomBytes: 1000 })).content.equals(content), 'small room, large answer')
  const refused = await read(connection)
  t.match(refused, { status: 404, startCount: 0 })
  t.equal(String(refused.body), '<Error/>')
  t.equal((await read(connection)).content.length, 0)
  t.equal((await read(connection)).status, 204)
  t.equal(script.connectionCount(), 1)
  t.match(script.seen[0], /^GET \/bucket\/key HTTP\/1\.1\r\nhost: x$/)
  await t.rejects(read(connection, { headers: { a: 'b\r\nc: d' } }), /header a has characters/)
  t.equal(script.seen.length, 5, 'that was not sent')
})

t.test('more requests than connections wait for one', async t => {
  const script = await startScript(t, socket => void socket.write(`${headOf(2)}ok`))
  const connection = connectTo(t, script)
  const answers = await Promise.all(Array.from({ length: 20 }, () => read(connection)))
  t.ok(answers.every(({ content }) => String(content) === 'ok'))
  t.equal(script.connectionCount(), 2)
})

t.test('bodies without a length are read by undici, and the sink starts once', async t => {
  const script = await startScript(t, (socket, index) => {
    if (index < 2) socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n')
    else socket.end('HTTP/1.1 200 OK\r\n\r\nto the end')
  })
  const connection = connectTo(t, script)
  const chunked = await read(connection, { roomBytes: 2, busyMs: 1 })
  t.equal(String(chunked.content), 'abcde')
  t.equal(chunked.startCount, 1)
  t.equal(String((await read(connection)).content), 'to the end')
  t.equal(script.seen.length, 3, 'only the first was asked for twice')
})

t.test('documents are gathered, with a length or in chunks however they are cut; heads have no body', async t => {
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n'
  const long = randomBytes(200_000)
  const script = await startScript(t, async (socket, index) => {
    if (index === 0) socket.write(`${headOf(11)}<Document/>`)
    else if (index === 1) {
      for (const byte of Buffer.from(`${chunked}3;a="b"\r\n<Do\r\n08 \r\ncument/>\r\n0\r\nA: b\r\n\r\n`)) {
        socket.write(Buffer.of(byte))
        await sleep(1)
      }
    } else if (index === 2) {
      socket.write(`${chunked}${long.length.toString(16)}\r\n`)
      socket.write(long)
      socket.write('\r\n000\r\n\r\n')
    } else if (index === 3) socket.write(headOf(5))
    else if (index === 4) socket.write(chunked)
    else socket.write(`${chunked.replace('200 OK', '403 Forbidden')}8\r\n<Error/>\r\n0\r\n\r\n`)
  })
  const connection = connectTo(t, script)
  const ask = (method: string) => connection.send({ method, path: '/bucket', headers: { host: 'x' } })
  t.equal(String((await ask('GET')).body), '<Document/>')
  t.equal(String((await ask('GET')).body), '<Document/>')
  t.ok((await ask('GET')).body.equals(long))
  t.match(await ask('HEAD'), { status: 200, headers: { 'content-length': '5' }, body: Buffer.alloc(0) })
  t.match(await ask('HEAD'), { status: 200, body: Buffer.alloc(0) })
  t.equal(String((await ask('GET')).body), '<Error/>')
  const refused = await read(connection)
  t.match(refused, { status: 403, startCount: 0 })
  t.equal(String(refused.body), '<Error/>')
  t.equal(script.connectionCount(), 1)
  t.equal(script.seen.length, 7, 'none was asked for twice')
})

t.test('documents in chunks that are none end the request', async t => {
  for (const [body, code] of [
    ['x\r\n', 'HTTP_BAD_BODY'],
    ['\r\n', 'HTTP_BAD_BODY'],
    ['-1\r\n', 'HTTP_BAD_BODY'],
    ['0x1\r\n', 'HTTP_BAD_BODY'],
    ['1\na\r\n', 'HTTP_BAD_BODY'],
    ['1\r\nab\r\n', 'HTTP_BAD_BODY'],
    ['0\r\n\r\nHTTP/1.1 200 OK\r\n', 'HTTP_BAD_BODY'],
    [`1;${'a'.repeat(5000)}`, 'HTTP_BAD_BODY'],
    [`0\r\n${`A: ${'b'.repeat(1000)}\r\n`.repeat(5)}`, 'HTTP_BAD_BODY'],
    ['1000001\r\n', 'bad_answer'],
    ['ffffffff\r\n', 'bad_answer'],
  ] as const) {
    const script = await startScript(
      t,
      socket => void socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`),
    )
    const asked = connectTo(t, script).send({ method: 'GET', path: '/bucket', headers: { host: 'x' } })
    await t.rejects(asked, { code }, JSON.stringify(body.slice(0, 40)))
  }
  const short = await startScript(
    t,
    socket => void socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc'),
  )
  const asked = connectTo(t, short).send({ method: 'GET', path: '/bucket', headers: { host: 'x' } })
  await t.rejects(asked, { code: 'ECONNRESET', message: /connection before the end of its answer/ })
})

t.test('wrong answers end the request and the connection', async t => {
  for (const [text, code] of [
    ['SSH-2.0-x\r\n\r\n', 'HTTP_BAD_HEAD'],
    [`HTTP/1.1 200 OK\r\nA: ${'b'.repeat(1 << 16)}`, 'HTTP_BAD_HEAD'],
    ['HTTP/1.1 101 Switching\r\n\r\n', 'HTTP_BAD_HEAD'],
    ['HTTP/1.1 100 Continue\r\n\r\n'.repeat(9), 'HTTP_BAD_HEAD'],
    [`${headOf(2)}abc`, 'HTTP_BAD_BODY'],
  ] as const) {
    const script = await startScript(t, socket => void socket.write(text))
    const connection = connectTo(t, script)
    await t.rejects(read(connection), { code }, JSON.stringify(text.slice(0, 40)))
    await t.rejects(read(connection), { code }, 'and so does the next')
    t.equal(script.connectionCount(), 2)
  }
  const short = await startScript(t, socket => void socket.end(`${headOf(10)}abc`))
  await t.rejects(read(connectTo(t, short)), { code: 'ECONNRESET', message: /7 bytes before the end of its answer/ })
  let wasLeft: Promise<void> | undefined
  const unannounced = await startScript(t, (socket, index) => {
    socket.write(`${headOf(2)}ok`)
    wasLeft ??= new Promise<void>(done => socket.once('close', () => done()))
    if (index === 0) setTimeout(() => socket.write('and more'), 200)
  })
  const connection = connectTo(t, unannounced)
  t.equal(String((await read(connection)).content), 'ok')
  await wasLeft
  t.equal(String((await read(connection)).content), 'ok', 'what nobody asked for is not taken for an answer')
  t.equal(unannounced.connectionCount(), 2)
})

t.test('a connection that the server has left goes unnoticed; one that fails at once does not', async t => {
  const script = await startScript(t, (socket, index) => {
    if (index === 1) socket.destroy()
    else socket.write(`${headOf(2)}ok`)
  })
  const connection = connectTo(t, script)
  t.equal(String((await read(connection)).content), 'ok')
  t.equal(String((await read(connection)).content), 'ok')
  t.equal(script.seen.length, 3)
  const gone = await startScript(t, socket => void socket.destroy())
  await t.rejects(read(connectTo(t, gone)), { code: 'ECONNRESET' })
  t.equal(gone.seen.length, 1)
  const nobody = createServer()
  await new Promise<void>(done => nobody.listen(0, '127.0.0.1', done))
  const origin = `http://127.0.0.1:${(nobody.address() as AddressInfo).port}`
  await new Promise(done => nobody.close(done))
  await t.rejects(read(connectTo(t, { ...gone, origin })), { code: 'ECONNREFUSED' })
})

t.test('silence ends a request; slowness of either side does not', async t => {
  const script = await startScript(t, async (socket, index) => {
    if (index === 0) return
    if (index === 1) {
      socket.write(`${headOf(10)}abc`)
      return
    }
    socket.write(headOf(8))
    for (const letter of 'slow one') {
      await sleep(100)
      socket.write(letter)
    }
  })
  const connection = connectTo(t, script, { timeoutMs: 300 })
  await t.rejects(read(connection), { code: 'ETIMEDOUT', message: /silent within 0.3 seconds/ })
  await t.rejects(read(connection), { code: 'ETIMEDOUT' })
  t.equal(String((await read(connection)).content), 'slow one')
  t.equal(String((await read(connection, { roomBytes: 4, busyMs: 500 })).content), 'slow one')
})

t.test('an end from outside waits for the sink, and frees the place in the queue', async t => {
  const script = await startScript(t, socket => void socket.write(`${headOf(10)}abc`))
  const connection = connectTo(t, script, { connectionCount: 1 })
  const stop = new AbortController()
  const reading = read(connection, { busyMs: 300, signal: stop.signal })
  const waiting = new AbortController()
  const queued = read(connection, { signal: waiting.signal })
  await sleep(100)
  waiting.abort(new Error('not any more'))
  await t.rejects(queued, /not any more/)
  const startedMs = performance.now()
  stop.abort(new Error('enough'))
  await t.rejects(reading, /enough/)
  t.ok(performance.now() - startedMs > 100, 'what the sink had was not given back before')
  await t.rejects(read(connection, { signal: stop.signal }), /enough/)
  t.equal(script.seen.length, 1)
})

t.test('a busy sink holds the socket back, with TLS as without', async t => {
  const folder = temporaryFolder(t)
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const parameters = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', [...parameters, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const content = randomBytes(32 * MIB + 321) // More than the buffers of the kernel hold.
  for (const pair of [undefined, { key: readFileSync(key), cert: readFileSync(cert) }]) {
    let handedOver = 0
    const script = await startScript(
      t,
      socket => {
        socket.write(headOf(content.length))
        for (let at = 0; at < content.length; at += 100_000) {
          socket.write(content.subarray(at, at + 100_000), () => {
            handedOver += 100_000
          })
        }
      },
      pair,
    )
    const connection = connectTo(t, script, pair && { ca: cert })
    const found = await read(connection, { roomBytes: 200_000, busyMs: 5 })
    t.ok(found.content.equals(content), pair ? 'TLS' : 'plain')
    t.ok((await read(connection)).content.equals(content), 'at full speed')
    t.equal(script.connectionCount(), 1)
    handedOver = 0
    const stop = new AbortController()
    const held = read(connection, { roomBytes: 1000, busyMs: 400, signal: stop.signal })
    held.catch(() => undefined)
    await sleep(200)
    t.ok(handedOver < content.length, `the other side has sent ${handedOver} of ${content.length} bytes`)
    stop.abort(new Error('enough'))
    await t.rejects(held, /enough/)
    if (pair === undefined) continue
    await t.rejects(read(connectTo(t, script)), { code: /SELF_SIGNED/ }, 'nobody vouches for it')
    t.ok((await read(connectTo(t, script, { isInsecure: true }))).content.equals(content))
  }
})

t.test('an object whose connection breaks in the middle goes on there, of the same content', async t => {
  const content = randomBytes(100_000)
  const script = await startScript(t, (socket, index) => {
    const start = Number(/^range: bytes=(\d+)-/m.exec(script.seen[index]!)?.[1] ?? 0)
    const range = `Content-Range: bytes ${start}-${content.length - 1}/${content.length}\r\n`
    const head = headOf(content.length - start, start === 0 ? '' : range)
    socket.write((start === 0 ? head : head.replace('200 OK', '206 Partial')) as string)
    if (index === 2) socket.write(content.subarray(start))
    else socket.write(content.subarray(start, start + 30_000), () => setTimeout(() => socket.resetAndDestroy(), 20))
  })
  const client = createClient({
    alias: { endpoint: script.origin, accessKey: 'a', secretKey: 'b', region: 'us-east-1', pathStyle: 'on' },
    connectionCount: 2,
    timeoutMs: 5000,
    debug: undefined,
  })
  t.teardown(() => client.close())
  const found = Buffer.alloc(content.length)
  let filled = 0
  await readObject(client, {
    name: { bucket: 'bucket', key: 'key' },
    room: () => found.subarray(filled),
    filled(byteCount) {
      filled += byteCount
    },
  })
  t.ok(found.equals(content))
  t.match(script.seen[1], /^range: bytes=30000-99999$/m)
  t.match(script.seen[2], /^range: bytes=60000-99999$/m)
  t.match(script.seen[1], /^if-match: "e"$/m)
})
