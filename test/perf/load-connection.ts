/**
 * One connection of the load generator: sends prepared bytes, and parses no more of the answer than its status, its length
 * and (when asked) its ETag, so that the client costs little beside the server that it measures.
 */
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

const HEAD_SIZE_BYTES_MAX = 16_384
const HEAD_END = Buffer.from('\r\n\r\n')

/** One client of the load: a request at a time. */
export interface Connection {
  readonly receivedBodyBytes: number
  /** When the request in flight began, for its owner. */
  startedMs: number
  /** Number of the request in flight, for its owner. */
  index: number
  /** Where its owner puts small requests together. */
  readonly outgoing: Buffer
  /** Sends a request that is complete: its head as HTTP/1.1 writes it, and its body. */
  send(bytes: Buffer): void
  /** Sends a head and then `sizeBytes` of body made of `chunk` again and again, as fast as the other side takes it. */
  sendStream(head: Buffer, chunk: Buffer, sizeBytes: number): void
  close(): void
}

/** Called when an answer is complete. `head` is its status line and headers. */
export type AnswerListener = (connection: Connection, status: number, head: string) => void
export type FailureListener = (connection: Connection, error: Error) => void

export class LoadConnection implements Connection {
  receivedBodyBytes = 0
  startedMs = 0
  index = -1
  readonly outgoing: Buffer
  #socket: Socket
  #onAnswer: AnswerListener
  #onFailure: FailureListener
  #isClosed = false
  /** Bytes of a head that did not come in one piece. */
  #partialHead: Buffer | undefined
  #head = ''
  #status = 0
  /** Body bytes still to come; -1: a head is expected. */
  #remaining = -1
  #chunks: ChunkedBody | undefined

  constructor(socket: Socket, outgoing: Buffer, onAnswer: AnswerListener, onFailure: FailureListener) {
    this.#socket = socket
    this.outgoing = outgoing
    this.#onAnswer = onAnswer
    this.#onFailure = onFailure
    socket.on('error', error => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('The server closed a connection.')))
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes)
  }

  sendStream(head: Buffer, chunk: Buffer, sizeBytes: number): void {
    const socket = this.#socket
    let remaining = sizeBytes
    socket.write(head)
    const pump = (): void => {
      while (remaining > 0) {
        if (this.#isClosed) return
        const part = remaining >= chunk.length ? chunk : chunk.subarray(0, remaining)
        remaining -= part.length
        if (!socket.write(part) && remaining > 0) {
          socket.once('drain', pump)
          return
        }
      }
    }
    pump()
  }

  close(): void {
    this.#isClosed = true
    this.#socket.destroy()
  }

  /** Takes bytes from the socket; `buffer` is reused after the call. */
  receive(buffer: Buffer, size: number): void {
    let position = 0
    while (position < size) {
      if (this.#remaining < 0) {
        const bodyStart = this.#takeHead(buffer, position, size)
        if (bodyStart < 0) return
        position = bodyStart
      }
      if (this.#chunks !== undefined) {
        const before = this.#chunks.bodyBytes
        position = this.#chunks.take(buffer, position, size)
        this.receivedBodyBytes += this.#chunks.bodyBytes - before
        if (!this.#chunks.isComplete) return
      } else {
        const taken = Math.min(this.#remaining, size - position)
        position += taken
        this.receivedBodyBytes += taken
        this.#remaining -= taken
        if (this.#remaining > 0) return
      }
      this.#remaining = -1
      this.#chunks = undefined
      this.#onAnswer(this, this.#status, this.#head)
    }
  }

  /** Returns where the body begins, or -1 when the head is not complete. */
  #takeHead(buffer: Buffer, position: number, size: number): number {
    let source = buffer.subarray(position, size)
    const partialSize = this.#partialHead?.length ?? 0
    if (this.#partialHead !== undefined) source = Buffer.concat([this.#partialHead, source])
    const end = source.indexOf(HEAD_END)
    if (end < 0) {
      if (source.length > HEAD_SIZE_BYTES_MAX) this.#fail(new Error('The head of an answer is too long.'))
      this.#partialHead = Buffer.from(source)
      return -1
    }
    this.#partialHead = undefined
    this.#head = source.toString('latin1', 0, end)
    this.#status = (source[9] - 48) * 100 + (source[10] - 48) * 10 + source[11] - 48
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head)
    this.#remaining = length === null ? 0 : Number(length[1])
    if (length === null && /\r\ntransfer-encoding: *chunked/i.test(this.#head)) this.#chunks = new ChunkedBody()
    return position + end + HEAD_END.length - partialSize
  }

  #fail(error: Error): void {
    if (this.#isClosed) return
    this.close()
    this.#onFailure(this, error)
  }
}

/** Finds the end of a chunked body (RFC 9112 section 7.1) and counts its bytes. */
class ChunkedBody {
  isComplete = false
  bodyBytes = 0
  #line = ''
  /** Bytes of the current chunk still to come. */
  #remaining = 0
  #place: 'size' | 'data' | 'data-end' | 'trailer' = 'size'

  take(buffer: Buffer, start: number, end: number): number {
    let position = start
    while (position < end && !this.isComplete) {
      if (this.#place === 'data') {
        const taken = Math.min(this.#remaining, end - position)
        this.bodyBytes += taken
        this.#remaining -= taken
        position += taken
        if (this.#remaining === 0) this.#place = 'data-end'
        continue
      }
      const lineFeed = buffer.indexOf(10, position)
      if (lineFeed < 0 || lineFeed >= end) {
        this.#line += buffer.toString('latin1', position, end)
        return end
      }
      this.#takeLine((this.#line + buffer.toString('latin1', position, lineFeed)).trim())
      this.#line = ''
      position = lineFeed + 1
    }
    return position
  }

  #takeLine(line: string): void {
    if (this.#place === 'size') {
      this.#remaining = Number.parseInt(line, 16)
      this.#place = this.#remaining === 0 ? 'trailer' : 'data'
    } else if (this.#place === 'data-end') {
      this.#place = 'size'
    } else if (line === '') {
      this.isComplete = true
    }
  }
}

/** Opens a connection; resolves when it is established. */
export function openConnection(
  target: { readonly host: string; readonly port: number; readonly isTls?: boolean },
  buffers: { readonly receiveBytes: number; readonly outgoing: Buffer },
  onAnswer: AnswerListener,
  onFailure: FailureListener,
): Promise<LoadConnection> {
  return new Promise((resolve, reject) => {
    let connection: LoadConnection | undefined
    const options = {
      host: target.host,
      port: target.port,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(buffers.receiveBytes),
        callback: (size, buffer) => {
          connection!.receive(buffer as Buffer, size)
          return true
        },
      },
    } satisfies NetConnectOpts
    const socket = target.isTls
      ? connectTls({ ...options, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
      : connect(options)
    socket.once('error', reject)
    socket.once(target.isTls ? 'secureConnect' : 'connect', () => {
      socket.setNoDelay(true)
      socket.off('error', reject)
      connection = new LoadConnection(socket, buffers.outgoing, onAnswer, onFailure)
      resolve(connection)
    })
  })
}
