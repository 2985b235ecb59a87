/** Bodies in chunks to a real client over a socket: every chunk returns to its pool once, whatever the client does. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { BlobChunk } from 'svc/plugins/storage/api'
import { until } from 'svc/testing'
import t from 'tap'
import { type ChunkSource, sendChunks } from '../chunks.ts'

const chunkBytes = 1024 * 1024

class Source implements ChunkSource {
  held = 0
  heldMost = 0
  releasedTwice = 0
  closed = 0
  /** Chunks that were not asked for yet. */
  left: number
  readonly #failsAt: number
  readonly bytes = randomBytes(chunkBytes)
  /** Where each chunk is cut. */
  readonly cuts: readonly number[]

  constructor(count: number, { failsAt = -1, cuts = [] as readonly number[] } = {}) {
    this.left = count
    this.#failsAt = failsAt
    this.cuts = cuts
  }

  get #pieces(): Buffer[] | undefined {
    if (this.cuts.length === 0) return undefined
    return [0, ...this.cuts].map((cut, i) => this.bytes.subarray(cut, this.cuts[i]))
  }

  async next(): Promise<BlobChunk | undefined> {
    await new Promise(setImmediate)
    if (this.left === this.#failsAt) throw new Error('the drive is gone')
    if (this.left === 0) return undefined
    this.left--
    this.held++
    this.heldMost = Math.max(this.heldMost, this.held)
    let isReleased = false
    const { bytes } = this
    const pieces = this.#pieces
    return {
      get bytes() {
        if (pieces !== undefined) throw new Error('pieces are not joined')
        return bytes
      },
      pieces,
      release: () => {
        if (isReleased) this.releasedTwice++
        else this.held--
        isReleased = true
      },
    }
  }

  close(): void {
    this.closed++
  }
}

let handle: (response: ServerResponse) => Promise<void>
const ended: Promise<unknown>[] = []
const server = createServer((_, response) => {
  const handling = handle(response).catch(error => {
    response.destroy()
    return error
  })
  ended.push(handling)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => server.close())
const { port } = server.address() as AddressInfo
const request = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

/** Answers one request with the chunks; `client` gets the socket. Resolves to what the handler rejected with. */
async function answer(
  source: Source,
  count: number,
  client: (socket: ReturnType<typeof connect>) => Promise<void>,
): Promise<unknown> {
  handle = async response => {
    response.writeHead(200, { 'Content-Length': count * chunkBytes })
    await sendChunks(response, source, await source.next(), count * chunkBytes, () => undefined)
  }
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(request)
  await client(socket)
  const error = await ended.pop()
  // The callbacks of the last writes.
  await until(() => source.held === 0)
  return error
}

const drained = async (socket: ReturnType<typeof connect>) => {
  const read: Buffer[] = []
  for await (const piece of socket) read.push(piece)
  return Buffer.concat(read)
}

t.test('a client that reads everything gets everything', async t => {
  for (const cuts of [[], [1], [65_536, 65_537, 900_000]]) {
    const source = new Source(9, { cuts })
    let read = Buffer.alloc(0)
    const error = await answer(source, 9, async socket => {
      read = await drained(socket)
    })
    t.equal(error, undefined)
    const body = read.subarray(read.indexOf('\r\n\r\n') + 4)
    const expected = Buffer.concat(Array.from({ length: 9 }, () => source.bytes))
    t.ok(body.equals(expected), `in chunks that are cut at ${cuts.join(', ') || 'no place'}`)
    t.match(source, { held: 0, releasedTwice: 0, closed: 1 })
  }
})

t.test('a client that stops reading keeps two chunks, and all return when it breaks off', async t => {
  for (const how of ['reset', 'end'] as const) {
    const source = new Source(200)
    const error = await answer(source, 200, async socket => {
      socket.pause()
      // Until the sockets take no more: nothing is read from the source for a while.
      for (let before = -1; before !== source.left; ) {
        before = source.left
        await new Promise(done => setTimeout(done, 200))
      }
      t.ok(source.left > 0, 'the client is slower than the server')
      if (how === 'reset') socket.resetAndDestroy()
      else socket.destroy()
      await once(socket, 'close')
    })
    t.equal(error, undefined)
    t.ok(source.heldMost <= 2, `at most ${source.heldMost} chunks at the same time`)
    t.match(source, { held: 0, releasedTwice: 0, closed: 1 })
  }
})

t.test('a source that fails in the middle rejects, and its chunks return', async t => {
  const source = new Source(9, { failsAt: 4 })
  const error = await answer(source, 9, async socket => {
    const read = await drained(socket).catch(() => Buffer.alloc(0))
    t.ok(read.length < 9 * chunkBytes, 'the client cannot take it for complete')
  })
  t.match(error, { message: 'the drive is gone' })
  t.match(source, { held: 0, releasedTwice: 0, closed: 1 })
})

t.test('a pipelined answer that fails before its turn sends nothing: its chunks have gone back', async t => {
  const source = new Source(3, { failsAt: 2 })
  let openGate = () => {}
  const gate = new Promise<void>(resolve => {
    openGate = resolve
  })
  let requestCount = 0
  handle = async response => {
    if (++requestCount === 1) {
      await gate
      response.end('first')
      return
    }
    response.writeHead(200, { 'content-length': String(3 * chunkBytes) })
    const whenClosed = once(response, 'close')
    await sendChunks(response, source, await source.next(), 3 * chunkBytes, () => {}).catch(async () => {
      response.destroy()
      await whenClosed
      t.equal(source.held, 0)
      openGate()
    })
  }
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n')
  let received = ''
  socket.on('data', piece => {
    received += piece.toString('latin1')
  })
  await once(socket, 'close')
  t.match(received, /^HTTP\/1\.1 200 OK[\s\S]*first$/)
  t.equal(received.split('HTTP/1.1').length, 2, 'nothing of the second answer')
  t.equal(source.releasedTwice, 0)
})
