/**
 * Responses of Node.js that include our two headers. Setting the headers separately would make every answer use the slow merge of headers
 * in Node.js (about 2 µs); here they are appended to the list that `writeHead` writes anyway.
 */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http'
import { ServerResponse, STATUS_CODES } from 'node:http'
import { type Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Socket } from 'node:net'
import { type EndedAnswer, endTogether } from './answer-batch.ts'
import type { Connection } from './connection.ts'
import { joinBytes, joinedBodyBytesMax, keepJoined } from './joined-write.ts'

/** Of Node's answers, what is not in their types: the text of the head, and whether the socket has it. */
interface NodeAnswer {
  _header: string | null
  _contentLength: number | null
  _headerSent: boolean
  readonly _hasBody: boolean
  readonly _expect_continue: boolean
  _keepAliveTimeout: number
  /** Makes the head, which begins with `first`. */
  _storeHeader(first: string, headers: readonly string[]): void
}

/** The first lines of a head, as text and as bytes. */
export interface AnswerBegin {
  readonly text: string
  readonly bytes: Buffer
}

const noFields: readonly string[] = []

/** Of a connection: the answer that is being sent, and whether it is one of TLS. */
type NodeSocket = Socket & { readonly _httpMessage?: unknown; readonly encrypted?: boolean }

/** For the header `Keep-Alive`. Node.js takes it from its server, where it would be the time of a timer, too. */
export function announceKeepAlive(response: HttpResponse, timeoutMs: number): void {
  ;(response as unknown as NodeAnswer)._keepAliveTimeout = timeoutMs
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[]

/** Shared by all responses of a listener. */
export interface DrainState {
  draining: boolean
}

/** Told of each call that comes after the end of a response: a defect of its handler. The call does nothing. */
export type LateCallReporter = (response: HttpResponse, call: 'writeHead' | 'write' | 'end') => void

export class HttpResponse<Request extends IncomingMessage = IncomingMessage>
  extends ServerResponse<Request>
  implements EndedAnswer
{
  requestId = ''
  /** The connection that counts this response as in flight. */
  countedBy: Connection | undefined = undefined
  /** The request began before the server drained: draining waits for it. */
  awaited = false
  /** The request belongs to the mount. */
  mounted = false
  drainState: DrainState | undefined = undefined
  /** Set by the handler, for the log. */
  operation = ''
  onLateCall: LateCallReporter | undefined = undefined
  /** `queued`: the handler has ended it, and the end of this turn sends it. Node.js learns of the end only then. */
  #phase: 'open' | 'queued' | 'sent' = 'open'
  /** What the handler has given to `end`. */
  #ending: unknown[] = []
  /** A head that was written by `writeBlock`: its first bytes, and what follows them. */
  #begun: { readonly bytes: Buffer; readonly rest: string } | undefined

  /** The handler has ended it, whether or not it is sent. */
  get hasEnded(): boolean {
    return this.#phase !== 'open'
  }

  override writeHead(statusCode: number, reason?: string | Headers, headers?: Headers): this {
    // While it is sent, Node.js calls it for a head that nobody wrote.
    if (this.#phase === 'queued' || (this.#phase === 'sent' && this.headersSent)) return this.#refuse('writeHead')
    if (this.drainState?.draining === true) this.shouldKeepAlive = false
    if (typeof reason === 'string') return super.writeHead(statusCode, reason, withOurs(headers, this.requestId))
    return super.writeHead(statusCode, withOurs(reason ?? headers, this.requestId))
  }

  /** Nothing stands in the way of `writeBlock`. */
  get takesBlock(): boolean {
    const { _header: head, _expect_continue: expects, _hasBody: hasBody } = this as unknown as NodeAnswer
    const isOpen = this.#phase === 'open' && head === null && !expects && hasBody && this.useChunkedEncodingByDefault
    return isOpen && this.getHeaderNames().length === 0
  }

  /**
   * Like `writeHead`, for a status whose answers have a body: its fields are not looked at again. `begin`: the status and the first of them;
   * `lines`: the others. Node.js adds what the connection needs.
   */
  writeBlock(statusCode: number, begin: AnswerBegin, lines: string, sizeBytes: number): void {
    const answer = this as unknown as NodeAnswer
    if (this.drainState?.draining === true) this.shouldKeepAlive = false
    this.statusCode = statusCode
    this.statusMessage = STATUS_CODES[statusCode] ?? ''
    answer._contentLength = sizeBytes
    answer._storeHeader(`x-amz-request-id: ${this.requestId}\r\n${lines}`, noFields)
    const rest = answer._header as string
    this.#begun = { bytes: begin.bytes, rest }
    answer._header = begin.text + rest
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `write` are Node's
  override write(...parameters: any[]): boolean {
    if (this.#phase === 'open') return (super.write as (...parameters: unknown[]) => boolean)(...parameters)
    this.#refuse('write')
    return false
  }

  /** A second end would be an error event that nobody listens to, which ends the thread: it is refused instead. */
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `end` are Node's
  override end(...parameters: any[]): this {
    if (this.#phase !== 'open') return this.#refuse('end')
    this.#phase = 'queued'
    this.#ending = parameters
    endTogether(this)
    return this
  }

  sendEnd(): void {
    const parameters = this.#ending
    this.#phase = 'sent'
    this.#ending = []
    try {
      const [body] = parameters
      const isSmall = parameters.length === 1 && Buffer.isBuffer(body) && body.length <= joinedBodyBytesMax
      if (isSmall) this.#endWith(body)
      else (super.end as (...parameters: unknown[]) => this)(...parameters)
    } catch (error) {
      // There is no caller that could get the error, and the other answers of this turn must still be sent.
      this.destroy(error as Error)
    }
  }

  /** Of head and body one write. */
  #endWith(body: Buffer): void {
    const { socket } = this
    const head = this.#begun?.rest ?? ((this as unknown as NodeAnswer)._header as string)
    const joined = this.#isNext(socket) ? joinBytes(this.#begun?.bytes, head, body) : undefined
    if (joined === undefined) {
      // Node.js joins them where the body is text.
      super.end(body.toString('latin1'), 'latin1')
      return
    }
    ;(this as unknown as NodeAnswer)._headerSent = true
    super.end(joined)
    if (socket === null || socket.writableLength > 0) keepJoined()
  }

  /** The head waits for the body, and the socket can take both at once. */
  #isNext(socket: NodeSocket | null): boolean {
    const { _header: head, _headerSent: isHeadSent, _hasBody: hasBody } = this as unknown as NodeAnswer
    if (typeof head !== 'string' || isHeadSent || !hasBody || this.chunkedEncoding || this.writableLength > 0)
      return false
    // Over TLS bytes are written later, and would have to be kept.
    return socket?._httpMessage === this && socket.writable && socket.encrypted !== true
  }

  #refuse(call: 'writeHead' | 'write' | 'end'): this {
    this.onLateCall?.(this, call)
    return this
  }
}

function withOurs(headers: Headers | undefined, requestId: string): OutgoingHttpHeader[] {
  const ours: OutgoingHttpHeader[] = ['Server', 'svc', 'x-amz-request-id', requestId]
  if (headers === undefined) return ours
  if (Array.isArray(headers)) return headers.concat(ours)
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) ours.push(name, value)
  }
  return ours
}

/** That every answer has. */
const ours: ReadonlySet<string> = new Set(['server', 'x-amz-request-id'])

/** HTTP/2 through the compatibility layer of Node.js; counts written bytes, to detect streams without progress. */
export class Http2Response<
  Request extends Http2ServerRequest = Http2ServerRequest,
> extends Http2ServerResponse<Request> {
  requestId = ''
  countedBy: Connection | undefined = undefined
  awaited = false
  mounted = false
  writtenBytes = 0
  /** For the check in `sessions.ts`: bytes that were sent at the last check, and the time since that number changed. */
  flushedBytes = -1
  stalledMs = 0
  operation = ''
  onLateCall: LateCallReporter | undefined = undefined

  get hasEnded(): boolean {
    return this.writableEnded
  }

  /** Headers that HTTP/2 has no place for would stay, and the answer that tells of the defect could not be written either. */
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `writeHead` are Node's
  override writeHead(...parameters: any[]): this {
    try {
      return (super.writeHead as (...parameters: unknown[]) => this)(...parameters)
    } catch (error) {
      if (!this.headersSent) {
        for (const name of this.getHeaderNames()) if (!ours.has(name)) this.removeHeader(name)
      }
      throw error
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `write` are Node's
  override write(chunk: any, ...rest: any[]): boolean {
    if (this.writableEnded) {
      this.onLateCall?.(this as unknown as HttpResponse, 'write')
      return false
    }
    this.writtenBytes += chunk.length
    return (super.write as (...parameters: unknown[]) => boolean)(chunk, ...rest)
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of `end` are Node's
  override end(...parameters: any[]): this {
    if (this.writableEnded) {
      this.onLateCall?.(this as unknown as HttpResponse, 'end')
      return this
    }
    return (super.end as (...parameters: unknown[]) => this)(...parameters)
  }
}
