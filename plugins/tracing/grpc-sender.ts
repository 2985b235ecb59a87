/**
 * OTLP over gRPC: a unary call for each batch, on one HTTP/2 connection. Source: gRPC over HTTP2 (PROTOCOL-HTTP2.md) and the
 * OpenTelemetry protocol, OTLP/gRPC.
 */
import { readFile } from 'node:fs/promises'
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2'
import type { Clock } from 'svc/kernel'
import type { AddressGuard } from 'svc/plugins/http-client/api'
import { grpcOrigin } from './endpoint.ts'
import { decode } from './name-values.ts'
import { readPartialSuccess } from './otlp.ts'
import { answerBytesMax, type Sender, type SenderOptions, type SendResult } from './sender.ts'

const path = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
const frameHeadBytes = 5
/** Cancelled, deadline exceeded, resource exhausted, aborted, out of range, unavailable, data loss. */
const retriedStatuses = new Set(['1', '4', '8', '10', '11', '14', '15'])
const retriedHttpStatuses = new Set([429, 502, 503, 504])
const messageCharsMax = 200

export interface GrpcSenderOptions extends SenderOptions {
  readonly guard: AddressGuard
  readonly clock: Clock
}

interface Answer {
  readonly headers: IncomingHttpHeaders
  readonly trailers: IncomingHttpHeaders
  readonly body: Buffer
}

export function createGrpcSender(options: GrpcSenderOptions): Sender {
  const { endpoint, headers, timeoutMs, authoritiesFile, guard, clock } = options
  const origin = grpcOrigin(endpoint, authoritiesFile !== '')
  let session: ClientHttp2Session | undefined
  let isClosed = false

  async function connected(): Promise<ClientHttp2Session> {
    if (session !== undefined && !session.closed && !session.destroyed) return session
    guard.check(new URL(origin).hostname)
    // With each connection: a renewed file comes into use.
    const ca = authoritiesFile === '' ? undefined : await readFile(authoritiesFile)
    const { connect } = await import('node:http2')
    const made = connect(origin, { lookup: guard.lookup, ...(ca && { ca }) })
    // A failed connection also fails the call on it, which reports it.
    made.on('error', () => {})
    made.once('close', () => {
      if (session === made) session = undefined
    })
    made.unref()
    session = made
    return made
  }

  async function call(request: Uint8Array): Promise<Answer> {
    const connection = await connected()
    if (isClosed) throw new Error('the connection was closed by us')
    return new Promise((resolve, reject) => {
      const stream = connection.request({
        ...headers,
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        'grpc-timeout': `${timeoutMs}m`,
      })
      const cancelTimeout = clock.after(timeoutMs, () => {
        // One that does not answer may be lost without a word: the next call makes another.
        connection.destroy()
        reject(new Error(`no answer within ${timeoutMs} ms`))
      })
      let answered: IncomingHttpHeaders = {}
      let trailers: IncomingHttpHeaders = {}
      const chunks: Buffer[] = []
      let sizeBytes = 0
      stream.on('response', received => {
        answered = received
      })
      stream.on('trailers', received => {
        trailers = received
      })
      stream.on('data', (chunk: Buffer) => {
        sizeBytes += chunk.length
        if (sizeBytes <= answerBytesMax) chunks.push(chunk)
        else stream.destroy(new Error(`the answer is longer than ${answerBytesMax} bytes`))
      })
      stream.once('error', reject)
      stream.once('close', () => {
        cancelTimeout()
        if (answered[':status'] === undefined) reject(new Error('the connection ended without an answer'))
        else resolve({ headers: answered, trailers, body: Buffer.concat(chunks) })
      })
      stream.end(frame(request))
    })
  }

  return {
    async send(request) {
      try {
        return resultOf(await call(request))
      } catch (error) {
        return { kind: 'unavailable', reason: (error as Error).message }
      }
    },
    async close() {
      isClosed = true
      session?.destroy()
    },
  }
}

/** A length-prefixed message: a byte for no compression, four for the length. */
function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(frameHeadBytes + message.length)
  framed[0] = 0
  framed.writeUInt32BE(message.length, 1)
  framed.set(message, frameHeadBytes)
  return framed
}

function resultOf({ headers, trailers, body }: Answer): SendResult {
  const httpStatus = headers[':status'] as unknown as number
  // An answer of trailers alone has the status in its head.
  const status = trailers['grpc-status'] ?? headers['grpc-status']
  if (status === undefined) {
    const reason = `it answered ${httpStatus}, without a status of gRPC`
    return retriedHttpStatuses.has(httpStatus) ? { kind: 'unavailable', reason } : { kind: 'refused', reason }
  }
  if (status !== '0') {
    const coded = String(trailers['grpc-message'] ?? headers['grpc-message'] ?? '')
    const message = (decode(coded) ?? coded).slice(0, messageCharsMax)
    const reason = `it answered with the status ${status} of gRPC${message === '' ? '' : `: ${message}`}`
    return retriedStatuses.has(String(status)) ? { kind: 'unavailable', reason } : { kind: 'refused', reason }
  }
  try {
    if (body.length < frameHeadBytes || body[0] !== 0) return { kind: 'taken', rejectedSpans: 0, message: '' }
    return { kind: 'taken', ...readPartialSuccess(body.subarray(frameHeadBytes)) }
  } catch {
    // The status reports success.
    return { kind: 'taken', rejectedSpans: 0, message: '' }
  }
}
