/** One connection of the load generator that speaks HTTP/2 over TLS: it takes the same prepared bytes, and sends what they say. */
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import type { AnswerListener, Connection, FailureListener } from './load-connection.ts'

const HEAD_END = '\r\n\r\n'

class Http2Connection implements Connection {
  receivedBodyBytes = 0
  startedMs = 0
  index = -1
  readonly outgoing: Buffer
  readonly #session: ClientHttp2Session
  readonly #onAnswer: AnswerListener
  readonly #onFailure: FailureListener
  #isClosed = false

  constructor(session: ClientHttp2Session, outgoing: Buffer, onAnswer: AnswerListener, onFailure: FailureListener) {
    this.#session = session
    this.outgoing = outgoing
    this.#onAnswer = onAnswer
    this.#onFailure = onFailure
    session.on('error', error => this.#fail(error))
    session.on('close', () => this.#fail(new Error('The server closed a connection.')))
  }

  send(bytes: Buffer): void {
    const headEnd = bytes.indexOf(HEAD_END)
    const body = bytes.subarray(headEnd + HEAD_END.length)
    const stream = this.#session.request(headersOf(bytes.latin1Slice(0, headEnd)), { endStream: body.length === 0 })
    let status = 0
    let head = ''
    stream.on('response', (headers: IncomingHttpHeaders & { ':status'?: number }) => {
      status = headers[':status'] ?? 0
      head = `HTTP/2 ${status}\r\netag: ${headers.etag ?? ''}`
    })
    stream.on('data', (part: Buffer) => {
      this.receivedBodyBytes += part.length
    })
    stream.on('error', error => this.#fail(error))
    stream.on('end', () => this.#onAnswer(this, status, head))
    if (body.length > 0) stream.end(body)
  }

  sendStream(): void {
    throw new Error('Only small bodies are sent over HTTP/2.')
  }

  close(): void {
    this.#isClosed = true
    this.#session.destroy()
  }

  #fail(error: Error): void {
    if (this.#isClosed) return
    this.close()
    this.#onFailure(this, error)
  }
}

function headersOf(head: string): OutgoingHttpHeaders {
  const [first, ...lines] = head.split('\r\n')
  const [method, path] = first.split(' ')
  const headers: OutgoingHttpHeaders = { ':method': method, ':path': path, ':scheme': 'https' }
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    headers[name === 'host' ? ':authority' : name] = line.slice(colon + 1).trim()
  }
  return headers
}

/** Opens a connection; resolves when it is established. */
export function openHttp2Connection(
  { host, port }: { readonly host: string; readonly port: number },
  outgoing: Buffer,
  onAnswer: AnswerListener,
  onFailure: FailureListener,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const session = connect(`https://${host}:${port}`, { rejectUnauthorized: false })
    session.once('error', reject)
    session.once('connect', () => {
      session.off('error', reject)
      resolve(new Http2Connection(session, outgoing, onAnswer, onFailure))
    })
  })
}
