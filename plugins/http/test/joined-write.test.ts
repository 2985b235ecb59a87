/** Answers whose head and body are one write: what they say, whoever reads them and whenever. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { eventually } from 'svc/testing'
import t from 'tap'
import { headerBlock, writeBlock } from '../header-block.ts'
import { connectRaw, startServer } from './server.ts'

/** All bytes, and another body for each number. */
function bodyOf(number: number, length: number): Buffer {
  const body = Buffer.alloc(length)
  for (let i = 0; i < length; i++) body[i] = (i * 7 + number) & 0xff
  body.write(String(number).padStart(8), 0)
  return body
}

/** The bodies in a stream of answers, in their order. */
function bodiesIn(received: Buffer): Buffer[] {
  const bodies: Buffer[] = []
  for (let position = 0; position < received.length; ) {
    const end = received.indexOf('\r\n\r\n', position) + 4
    const length = Number(/content-length: (\d+)/i.exec(received.toString('latin1', position, end))?.[1])
    bodies.push(received.subarray(end, end + length))
    position = end + length
  }
  return bodies
}

t.test('readers who begin late get the bytes of their own answers', async t => {
  const length = 8000
  const full = new Set<number>()
  /** By the number of a request: to be called when its answer has been given to its socket. */
  const answered = new Map<number, () => void>()
  const server = await startServer({
    mount({ request: { url, socket }, response }) {
      const number = Number(url?.slice(1))
      response.writeHead(200, ['Content-Type', 'text/plain', 'Content-Length', String(length)])
      response.end(bodyOf(number, length))
      // Answers leave at the end of their turn.
      setImmediate(() => {
        if (socket.writableLength > 0) full.add(Math.floor(number / 100_000))
        answered.get(number)?.()
      })
    },
  })
  t.teardown(() => server.stop())

  async function fill(reader: number) {
    const chunks: Buffer[] = []
    const socket = connect(server.s3Port, '127.0.0.1')
    await once(socket, 'connect')
    socket.on('data', chunk => chunks.push(chunk))
    socket.pause()
    let count = 0
    for (; count < 10_000 && !full.has(reader); count++) {
      const number = reader * 100_000 + count
      const { promise, resolve } = Promise.withResolvers<void>()
      answered.set(number, resolve)
      socket.write(`GET /${number} HTTP/1.1\r\nHost: a\r\n\r\n`)
      await promise
    }
    return { reader, socket, chunks, count }
  }

  const readers = await Promise.all([0, 1, 2, 3].map(fill))
  t.equal(full.size, readers.length, 'the system takes no more, and the server waits')
  // After the last of them another one is written.
  await fetch(`http://127.0.0.1:${server.s3Port}/0`).then(answer => answer.arrayBuffer())
  for (const { socket } of readers) socket.resume()
  for (const { reader, socket, chunks, count } of readers) {
    const received = () => bodiesIn(Buffer.concat(chunks))
    await eventually(
      () => received().filter(body => body.length === length).length,
      complete => complete === count,
    )
    const wrong = received().findIndex((body, index) => !body.equals(bodyOf(reader * 100_000 + index, length)))
    t.equal(wrong, -1, 'each answer has the bytes that were written for it')
    socket.destroy()
  }
})

t.test('bodies of every size arrive as they are, alone and in a row', async t => {
  const sizes = [0, 1, 4096, 8191, 8192, 8193, 70_000]
  const server = await startServer({
    mount({ request, response }) {
      const length = Number(request.url?.slice(1))
      response.writeHead(200, ['Content-Length', String(length)])
      response.end(Buffer.alloc(length, 0xfe))
    },
  })
  t.teardown(() => server.stop())
  for (const row of [...sizes.map(size => [size]), sizes]) {
    const client = await connectRaw(server.s3Port)
    const last = row.at(-1) as number
    const lines = row.map(
      size => `GET /${size} HTTP/1.1\r\nHost: a\r\n${size === last ? 'Connection: close\r\n' : ''}\r\n`,
    )
    await client.send(lines.join(''))
    const bodies = bodiesIn(Buffer.from(await client.closed(), 'latin1'))
    t.same(
      bodies.map(body => [body.length, body.every(byte => byte === 0xfe)]),
      row.map(size => [size, true]),
    )
  }
})

t.test('what is given to end beside a body counts: a callback, another encoding', async t => {
  let ended = 0
  const server = await startServer({
    mount({ request, response }) {
      response.writeHead(200, ['Content-Length', '2'])
      if (request.url === '/callback') response.end(Buffer.from('ab'), () => ended++)
      else response.end('6162', 'hex')
    },
  })
  t.teardown(() => server.stop())
  for (const path of ['callback', 'hex']) {
    const client = await connectRaw(server.s3Port)
    await client.send(`GET /${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    t.match(await client.closed(), /\r\n\r\nab$/, path)
  }
  t.equal(ended, 1)
})

t.test('a block of headers is sent as it was made, with what the connection needs', async t => {
  const block = headerBlock(['Content-Type', 'text/plain', 'X-One', 'a'])!
  const server = await startServer({
    mount({ request, response }) {
      if (request.url === '/after') response.setHeader('X-Set', 'before')
      const more = request.url === '/odd' ? ['Connection', 'close'] : []
      if (request.url === '/close') response.shouldKeepAlive = false
      writeBlock(response, 200, block, ['X-Two', 'b', ...more], 2)
      response.end(Buffer.from('ab'))
    },
  })
  t.teardown(() => server.stop())
  const client = await connectRaw(server.s3Port)
  await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const first = await client.until('\r\n\r\nab')
  t.match(
    first,
    /^HTTP\/1\.1 200 OK\r\nContent-Type: text\/plain\r\nX-One: a\r\nServer: svc\r\nx-amz-request-id: [0-9A-F]{16}\r\n/,
  )
  t.match(
    first,
    /\r\nX-Two: b\r\nDate: [^\r]+ GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=\d+\r\nContent-Length: 2\r\n\r\nab$/,
  )
  await client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET /after HTTP/1.1\r\nHost: a\r\n\r\n')
  await client.until(/x-set: before[\s\S]*\r\n\r\nab$/i)
  await client.send('GET /close HTTP/1.1\r\nHost: a\r\n\r\n')
  const all = await client.closed()
  t.match(all, /\r\nDate: [^\r]+ GMT\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab$/)
  t.equal(all.match(/\r\n\r\nab/g)?.length, 3, 'the answer to HEAD has no body')
  for (const [request, answer] of [
    ['GET /odd HTTP/1.1\r\nHost: a', /\r\nConnection: close\r\nContent-Length: 2\r\nServer: [\s\S]*\r\n\r\nab$/],
    ['GET / HTTP/1.0', /\r\nContent-Length: 2\r\n[\s\S]*\r\nDate: [^\r]+ GMT\r\nConnection: close\r\n\r\nab$/],
    ['GET / HTTP/1.0\r\nConnection: close', /\r\nX-Two: b\r\n[\s\S]*\r\nConnection: close\r\n\r\nab$/],
  ] as const) {
    const other = await connectRaw(server.s3Port)
    await other.send(`${request}\r\n\r\n`)
    t.match(await other.closed(), answer, request)
  }
})

t.test('what is no header makes no block, and neither does what belongs to the connection', async t => {
  for (const list of [
    ['X One', 'a'],
    ['X-One', 'a\r\nX-Two: b'],
    ['X-One', '\u0100'],
    ['Content-Length', '1'],
    ['connection', 'close'],
    ['Transfer-Encoding', 'chunked'],
    ['Expect', 'a'],
    ['Date', 'a'],
  ])
    t.equal(headerBlock(list), undefined, JSON.stringify(list))
})
