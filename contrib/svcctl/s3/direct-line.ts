/**
 * One HTTP/1.1 connection that reads answers into memory of the caller.
 *
 * 1. Only bodies of a stated length go to a sink. For a body in chunks, or one that ends with the connection, the request resolves with
 *    undefined before the sink got anything, and the caller repeats it through undici. Documents may come in chunks.
 * 2. While a sink is busy, the line does not ask it for room, does not write into its room, and does not end the request: a write to the
 *    drive may still read the room. TLS sockets deliver decrypted bytes even after a pause; the line keeps copies of those, at most one
 *    read of the network.
 * 3. One request at a time. Anything unexpected closes the connection. When a reused connection breaks before the first byte of an answer,
 *    the server had closed it in between: the request moves to another line.
 */
import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { failure } from '../errors.ts'
import { type AnswerHead, parseAnswerHead } from './answer-head.ts'
import { ChunkedDocument } from './chunked-document.ts'
import { gatheredBytesMax, type HttpAnswer, type HttpRequest, pour, type RoomSink } from './messages.ts'

export interface DirectOptions {
  readonly origin: string
  readonly connectionCount: number
  readonly timeoutMs: number
  readonly connectTimeoutMs: number
  readonly keepAliveMs: number
  /** PEM. */
  readonly ca: string | undefined
  readonly isInsecure: boolean
}

export interface DirectRequest extends HttpRequest {
  /** Undefined: the body is a document, and gathered. */
  readonly sink?: RoomSink
}

/** The longest head; a small object often arrives in the same read. */
const headBytesMax = 1 << 16
/** 100 and 103 may precede an answer. */
const interimCountMax = 8
const endOfHead = Buffer.from('\r\n\r\n')
const nothing = Buffer.alloc(0)

export const broken = (code: string, message: string): Error => Object.assign(new Error(message), { code })

export class Exchange {
  readonly request: DirectRequest
  readonly head: string
  readonly #resolve: (answer: HttpAnswer | undefined) => void
  readonly #reject: (error: unknown) => void
  line: Line | undefined
  onAbort: (() => void) | undefined

  constructor(
    request: DirectRequest,
    resolve: (answer: HttpAnswer | undefined) => void,
    reject: (error: unknown) => void,
  ) {
    this.request = request
    this.#resolve = resolve
    this.#reject = reject
    this.head = formatHead(request)
  }

  resolve(answer: HttpAnswer | undefined): void {
    this.#end()
    this.#resolve(answer)
  }

  reject(error: unknown): void {
    this.#end()
    this.#reject(error)
  }

  #end(): void {
    this.line = undefined
    if (this.onAbort !== undefined) this.request.signal?.removeEventListener('abort', this.onAbort)
  }
}

const unsendable = /[^\t\x20-\x7e\x80-\xff]/

function formatHead({ method, path, headers }: DirectRequest): string {
  let text = `${method} ${path} HTTP/1.1\r\n`
  if (/[^\x21-\x7e]/.test(path)) throw failure('bad_request', 'The address has characters that no request may have.')
  for (const name in headers) {
    const value = headers[name]!
    if (unsendable.test(value)) throw failure('bad_request', `The header ${name} has characters that none may have.`)
    text += `${name}: ${value}\r\n`
  }
  return `${text}\r\n`
}

interface LineEvents {
  onIdle(line: Line): void
  onClosed(line: Line): void
  /** The server closed the connection before it saw this request. */
  onUnserved(exchange: Exchange): void
}

/** The state of a line: waiting for a request, reading a head, reading a body, or closed. */
type Phase = 'idle' | 'head' | 'body' | 'closed'

export class Line {
  readonly #socket: Socket
  readonly #options: DirectOptions
  readonly #events: LineEvents
  readonly #own = Buffer.allocUnsafeSlow(headBytesMax)
  #phase: Phase = 'idle'
  #exchange: Exchange | undefined
  #filled = 0
  #interimCount = 0
  #servedCount = 0
  #hasAnswer = false
  #head!: AnswerHead
  #sink!: RoomSink
  #gathered = nothing
  #chunks: ChunkedDocument | undefined
  /** Bytes of the body still to come; unused for chunks. */
  #remaining = 0
  /** The work of the sink. */
  #pending: Promise<void> | undefined
  #isPaused = false
  /** Bytes that arrived while the sink was busy. */
  #late: Buffer[] = []
  #lateBytes = 0

  constructor(options: DirectOptions, events: LineEvents) {
    this.#options = options
    this.#events = events
    const { protocol, hostname, port } = new URL(options.origin)
    const isSecure = protocol === 'https:'
    const host = hostname.replace(/^\[|\]$/g, '')
    const place = {
      host,
      port: Number(port) || (isSecure ? 443 : 80),
      noDelay: true,
      onread: {
        buffer: () => this.#room(),
        callback: (count: number, buffer: Uint8Array) => this.#take(count, buffer),
      },
    }
    const socket = isSecure
      ? connectTls({
          ...place,
          servername: isIP(host) === 0 ? host : '',
          ALPNProtocols: ['http/1.1'],
          rejectUnauthorized: !options.isInsecure,
          ca: options.ca,
        })
      : connectPlain(place)
    this.#socket = socket
    socket.setTimeout(options.connectTimeoutMs)
    socket.on('timeout', () => this.#onSilence())
    socket.once(isSecure ? 'secureConnect' : 'connect', () => socket.setTimeout(options.timeoutMs))
    socket.on('error', error => this.#onBroken(error))
    socket.on('end', () => this.#onBroken(undefined))
    socket.on('close', () => this.#onBroken(undefined))
  }

  serve(exchange: Exchange): void {
    exchange.line = this
    this.#exchange = exchange
    this.#phase = 'head'
    this.#hasAnswer = false
    this.#interimCount = 0
    if (this.#servedCount > 0) this.#socket.setTimeout(this.#options.timeoutMs)
    this.#socket.write(exchange.head, 'latin1')
  }

  fail(error: unknown): void {
    if (this.#phase === 'closed') return
    const exchange = this.#exchange
    this.#phase = 'closed'
    this.#exchange = undefined
    this.#late = []
    this.#socket.destroy()
    this.#events.onClosed(this)
    if (exchange === undefined) return
    if (this.#pending === undefined) exchange.reject(error)
    else
      this.#pending.then(
        () => exchange.reject(error),
        failed => exchange.reject(failed),
      )
  }

  /** Called when the connection breaks; without an error the server has ended it. */
  #onBroken(error: Error | undefined): void {
    const exchange = this.#exchange
    if (exchange !== undefined && this.#phase === 'head' && this.#servedCount > 0 && !this.#hasAnswer) {
      exchange.line = undefined
      this.#exchange = undefined
      this.fail(undefined)
      this.#events.onUnserved(exchange)
      return
    }
    // The whole body arrived already; the sink has yet to take it.
    if (this.#phase === 'body' && this.#chunks === undefined && this.#remaining === this.#lateBytes) return
    const count = this.#chunks === undefined ? ` ${this.#remaining} bytes` : ''
    const missing = this.#phase === 'body' ? `${count} before the end of its answer` : ''
    this.fail(error ?? broken('ECONNRESET', `the other side closed the connection${missing}`))
  }

  #onSilence(): void {
    if (this.#pending !== undefined) {
      // The server waits for us.
      this.#socket.setTimeout(this.#options.timeoutMs)
      return
    }
    const what = this.#socket.connecting ? 'the connection was not made' : 'the other side was silent'
    const ms = this.#socket.timeout ?? this.#options.timeoutMs
    this.fail(broken('ETIMEDOUT', `${what} within ${ms / 1000} seconds`))
  }

  /** The memory for the next bytes. */
  #room(): Uint8Array {
    if (this.#phase !== 'body' || this.#pending !== undefined || this.#chunks !== undefined)
      return this.#filled === 0 ? this.#own : this.#own.subarray(this.#filled)
    const room = this.#sink.room()
    if (room.length === 0) return this.#own // The answer is too long: `pour` throws.
    return room.length > this.#remaining ? room.subarray(0, this.#remaining) : room
  }

  /** Called by the socket; false: no more for now. */
  #take(count: number, buffer: Uint8Array): boolean {
    try {
      if (this.#phase === 'body') this.#takeBody(count, buffer)
      else if (this.#phase === 'head') this.#takeHead(count)
      else if (this.#phase === 'idle') this.fail(undefined) // Bytes without a request.
    } catch (error) {
      this.fail(error)
    }
    // Stays paused until `#goOn`, even when more bytes arrive.
    if (this.#pending !== undefined && this.#remaining > this.#lateBytes) this.#isPaused = true
    return !this.#isPaused
  }

  #takeHead(count: number): void {
    this.#hasAnswer = true
    const searched = Math.max(0, this.#filled - endOfHead.length + 1)
    let end = this.#filled + count
    let from = searched
    for (;;) {
      const at = this.#own.subarray(0, end).indexOf(endOfHead, from)
      if (at === -1) {
        if (end === headBytesMax) throw broken('HTTP_BAD_HEAD', 'the head of the answer is too long')
        this.#filled = end
        return
      }
      const head = parseAnswerHead(this.#own.latin1Slice(0, at))
      const rest = at + endOfHead.length
      if (head.status >= 200) {
        this.#filled = 0
        this.#beginBody(head, rest, end)
        return
      }
      if (head.status === 101 || ++this.#interimCount > interimCountMax)
        throw broken('HTTP_BAD_HEAD', `the answer has the status ${head.status}, which was not asked for`)
      this.#own.copyWithin(0, rest, end)
      end -= rest
      from = 0
    }
  }

  #beginBody(head: AnswerHead, start: number, end: number): void {
    const { request } = this.#exchange!
    const { status } = head
    const isDocument = status >= 300 || request.sink === undefined
    this.#chunks = undefined
    if (isDocument && head.isChunked && request.method !== 'HEAD') {
      this.#head = head
      this.#chunks = new ChunkedDocument()
      this.#phase = 'body'
      if (end > start) this.#takeBody(end - start, this.#own.subarray(start, end))
      return
    }
    const bodyBytes = request.method === 'HEAD' ? 0 : head.bodyBytes
    if (bodyBytes === undefined) {
      const exchange = this.#exchange!
      this.#exchange = undefined
      this.fail(undefined)
      exchange.resolve(undefined)
      return
    }
    this.#head = head
    this.#remaining = bodyBytes
    if (end - start > bodyBytes) throw broken('HTTP_BAD_BODY', 'the answer is longer than its stated length')
    if (isDocument) this.#gather(bodyBytes)
    else {
      this.#gathered = nothing
      this.#sink = request.sink!
      request.sink!.start?.(head.headers)
    }
    this.#phase = 'body'
    if (end > start) this.#takeBody(end - start, this.#own.subarray(start, end))
    else if (bodyBytes === 0) this.#complete()
  }

  /** A document. */
  #gather(bodyBytes: number): void {
    if (bodyBytes > gatheredBytesMax) throw failure('bad_answer', 'The answer is larger than any document of S3.')
    const gathered = Buffer.allocUnsafe(bodyBytes)
    let at = 0
    this.#gathered = gathered
    this.#sink = {
      room: () => gathered.subarray(at),
      filled(byteCount) {
        at += byteCount
      },
    }
  }

  #takeBody(count: number, buffer: Uint8Array): void {
    if (this.#chunks !== undefined) {
      if (!this.#chunks.push(Buffer.from(buffer.buffer, buffer.byteOffset, count))) return
      this.#gathered = this.#chunks.content()
      this.#complete()
      return
    }
    if (this.#lateBytes + count > this.#remaining)
      throw broken('HTTP_BAD_BODY', 'the answer is longer than its stated length')
    if (this.#pending !== undefined) {
      this.#late.push(Buffer.from(buffer.subarray(0, count)))
      this.#lateBytes += count
      return
    }
    this.#remaining -= count
    const taken =
      buffer.buffer === this.#own.buffer
        ? pour(this.#sink, this.#own.subarray(buffer.byteOffset, buffer.byteOffset + count))
        : this.#sink.filled(count)
    if (taken !== undefined) this.#wait(taken)
    else if (this.#remaining === 0) this.#complete()
  }

  #wait(taken: Promise<void>): void {
    this.#pending = taken
    taken.then(
      () => {
        this.#pending = undefined
        if (this.#phase === 'body') this.#goOn()
      },
      error => {
        this.#pending = undefined
        this.fail(error)
      },
    )
  }

  #goOn(): void {
    try {
      while (this.#late.length > 0 && this.#pending === undefined) {
        const chunk = this.#late.shift()!
        this.#lateBytes -= chunk.length
        this.#remaining -= chunk.length
        const taken = pour(this.#sink, chunk)
        if (taken !== undefined) this.#wait(taken)
      }
    } catch (error) {
      this.fail(error)
      return
    }
    if (this.#pending !== undefined) return
    if (this.#isPaused) {
      this.#isPaused = false
      this.#socket.resume()
    }
    if (this.#remaining === 0) this.#complete()
  }

  #complete(): void {
    const exchange = this.#exchange!
    const { status, headers, isKept } = this.#head
    const answer = { status, headers, body: this.#gathered }
    this.#exchange = undefined
    this.#gathered = nothing
    this.#chunks = undefined
    this.#servedCount++
    if (isKept && !this.#socket.destroyed && this.#socket.writable) {
      this.#phase = 'idle'
      this.#socket.setTimeout(this.#options.keepAliveMs)
      this.#events.onIdle(this)
    } else this.fail(undefined)
    exchange.resolve(answer)
  }
}
