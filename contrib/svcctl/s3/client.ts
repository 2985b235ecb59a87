/** Requests of S3: addressed, signed, sent again where that is safe, their errors made readable. */
import type { Alias } from '../aliases.ts'
import { CliError, S3Error, usageError } from '../errors.ts'
import { createConnection } from './connection.ts'
import {
  connectionFailure,
  expectsTls,
  isConnectionError,
  isHopeless,
  isRefused,
  isReset,
  tlsExpected,
} from './connection-failure.ts'
import { carriesCustomerKey, carriesSourceKey } from './customer-key.ts'
import type { AnswerHeaders, BodySink, HttpAnswer, RoomSink } from './messages.ts'
import { createRetries, tellsRestart } from './retries.ts'
import { createSigner, encodeText } from './signing.ts'
import { readXml, textOf, textsOf } from './xml.ts'

export interface S3Request {
  /** AWS's name of the operation, for messages. */
  readonly operation: string
  readonly method: string
  readonly bucket?: string
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
  /** Must not change until the answer is there. */
  readonly body?: Buffer
  readonly onSent?: (byteCount: number) => void
  readonly sink?: BodySink | RoomSink
  readonly signal?: AbortSignal
}

export interface S3Answer {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly body: Buffer
}

export interface ClientOptions {
  readonly alias: Alias
  readonly connectionCount: number
  readonly timeoutMs: number
  /** One line per attempt, without secrets. */
  readonly debug: ((line: string) => void) | undefined
}

export interface S3Client {
  readonly endpoint: string
  /** Throws S3Error, or CliError when no answer is to be had. */
  send(request: S3Request): Promise<S3Answer>
  /** RangeError on a bad expiry. */
  presign(request: S3Request, expiresSeconds: number): string
  /** Fields of a form that sign its policy, and the address that it goes to. */
  signForm(bucket: string, policy: string): { readonly url: string; readonly fields: Record<string, string> }
  close(): Promise<void>
}

const attemptCountMax = 6
const firstPauseMs = 200
const pauseMsMax = 10_000
const retryAfterSecondsMax = 60

/** Status codes after which the same request may do better. */
const passingStatus = new Set([429, 500, 502, 503, 504])

export function createClient({ alias, connectionCount, timeoutMs, debug }: ClientOptions): S3Client {
  const { endpoint } = alias
  const { protocol, host, hostname } = new URL(endpoint)
  const signer = createSigner(alias)
  const isVirtual = alias.pathStyle === 'off' || (alias.pathStyle === 'auto' && /\.amazonaws\.com$/.test(hostname))
  const originOf = (bucket: string | undefined) =>
    isVirtual && bucket !== undefined ? `${protocol}//${bucket}.${host}` : endpoint
  const connect = (origin: string) =>
    createConnection({
      origin,
      connectionCount,
      timeoutMs,
      ca: alias.ca,
      isInsecure: alias.insecure === true,
    })
  const connections = new Map<string, ReturnType<typeof createConnection>>()
  // The body is under the signature unless TLS protects it, or nothing is between us and the server.
  const signsBody = protocol === 'http:' && !isLoopback(hostname)
  /** Difference between the server's clock and ours. */
  let clockOffsetMs = 0
  const retries = createRetries({
    attemptCountMax,
    pauseMsAfter: attemptNumber => Math.min(firstPauseMs * 2 ** (attemptNumber - 1), pauseMsMax),
  })

  function addressOf(request: S3Request) {
    const { bucket, key } = request
    const inPath = bucket === undefined || isVirtual ? '' : `/${encodeName(bucket)}`
    const path = `${inPath}${key === undefined ? (inPath === '' ? '/' : '') : `/${encodeKey(key)}`}`
    const query = Object.entries(request.query ?? {})
      .map(([name, value]) => `${encodeName(name)}=${encodeName(value)}`)
      .join('&')
    const origin = originOf(bucket)
    return { origin, host: origin.slice(protocol.length + 2), path, query }
  }

  function attempt(request: S3Request): Promise<HttpAnswer> {
    const { method, body } = request
    const { origin, host, path, query } = addressOf(request)
    const payload = body === undefined || signsBody ? body : 'UNSIGNED-PAYLOAD'
    const headers = signer.signRequest({
      method,
      host,
      path,
      query,
      headers: request.headers,
      payload,
      nowMs: Date.now() + clockOffsetMs,
    })
    let connection = connections.get(origin)
    if (connection === undefined) {
      connection = connect(origin)
      connections.set(origin, connection)
    }
    return connection.send({
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers: body === undefined ? headers : { ...headers, 'content-length': String(body.length) },
      body,
      onSent: request.onSent,
      sink: request.sink,
      signal: request.signal,
    })
  }

  async function send(request: S3Request): Promise<S3Answer> {
    // On the way to another machine it would be everybody's.
    if (signsBody && carriesCustomerKey(request.headers)) {
      throw usageError(`${endpoint} is plain HTTP to another machine: a key of your own goes only over https.`)
    }
    // Bytes that a sink has received cannot be withdrawn: the caller continues from there.
    let hasDelivered = false
    let sinkError: unknown
    const { sink } = request
    const watch = (taken: void | Promise<void>): void | Promise<void> => {
      hasDelivered = true
      return taken?.catch(error => {
        sinkError = error
        throw error
      })
    }
    const watched = sink === undefined ? request : { ...request, sink: watchSink(sink, watch) }
    const goOn = retries.begin()
    let mayAdjustClock = true
    for (;;) {
      const startedMs = debug === undefined ? 0 : performance.now()
      let error: unknown
      let pauseMsMin = 0
      let mayRetry: boolean
      let isRestart = false
      try {
        const answer = await attempt(watched)
        if (debug !== undefined) debug(describeAttempt(request, answer, performance.now() - startedMs))
        if (answer.status < 300) {
          retries.answered()
          const hidden = hiddenError(request, answer)
          if (hidden === undefined) return answer
          error = hidden
          mayRetry = passingStatus.has(hidden.status)
        } else {
          const refused = errorOf(request, answer)
          error = refused
          isRestart = tellsRestart(answer, refused.message)
          retries.answered(isRestart)
          mayRetry =
            passingStatus.has(refused.status) || refused.code === 'RequestTimeout' || refused.code === 'SlowDown'
          pauseMsMin = retryAfterMs(answer.headers)
          if (refused.code === 'RequestTimeTooSkewed' && mayAdjustClock) {
            mayAdjustClock = false
            const serverMs = Date.parse(answer.headers.date ?? '')
            if (!Number.isNaN(serverMs)) clockOffsetMs = serverMs - Date.now()
            mayRetry = !Number.isNaN(serverMs)
          }
        }
      } catch (cause) {
        if (cause instanceof CliError || request.signal?.aborted) throw cause
        // A full drive is no trouble of the connection, though its code looks the same.
        if (cause === sinkError || !isConnectionError(cause)) throw cause
        debug?.(`${request.operation}: ${(cause as Error).message}`)
        if (!retries.hasAnswered && (await expectsTls(endpoint, cause as NodeJS.ErrnoException))) {
          throw tlsExpected(nameOf(request), endpoint)
        }
        error = connectionFailure(nameOf(request), endpoint, cause as NodeJS.ErrnoException)
        // A server that has answered before is restarting; one that never has is down.
        mayRetry = !isHopeless(cause as NodeJS.ErrnoException) && (retries.hasAnswered || !isRefused(cause))
        isRestart = retries.hasAnswered && (isRefused(cause) || isReset(cause))
      }
      if (hasDelivered) {
        retries.answered()
        throw error
      }
      await goOn({ error, mayRetry, isRestart, pauseMsMin }, request.signal)
    }
  }

  return {
    endpoint,
    send,
    presign(request, expiresSeconds) {
      const { origin, path, query } = addressOf(request)
      return signer.presignUrl({
        method: request.method,
        url: `${origin}${path}${query === '' ? '' : `?${query}`}`,
        headers: request.headers,
        expiresSeconds,
        nowMs: Date.now() + clockOffsetMs,
      })
    },
    signForm(bucket, policy) {
      const { origin, path } = addressOf({ operation: 'PostObject', method: 'POST', bucket })
      return { url: `${origin}${path}`, fields: signer.signPolicy(policy, Date.now() + clockOffsetMs) }
    },
    async close() {
      await Promise.all(Array.from(connections.values(), connection => connection.close()))
      connections.clear()
    },
  }
}

/** `watch` observes the progress of each chunk. */
function watchSink(
  sink: BodySink | RoomSink,
  watch: (taken: void | Promise<void>) => void | Promise<void>,
): BodySink | RoomSink {
  const start = (headers: AnswerHeaders) => sink.start?.(headers)
  if ('data' in sink) return { start, data: chunk => watch(sink.data(chunk)) }
  return { start, room: () => sink.room(), filled: byteCount => watch(sink.filled(byteCount)) }
}

/** Whether it is a loopback address or `localhost`; other names may lead anywhere. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

/** Percent-encoding of Signature Version 4. Throws a usage error if the text is not valid Unicode. */
export function encodeName(text: string): string {
  if (!text.isWellFormed()) throw usageError(`${JSON.stringify(text)} is not Unicode text.`)
  return encodeText(text)
}

/** Encodes a key like `encodeName`, but keeps its slashes. */
export const encodeKey = (key: string): string => encodeName(key).replaceAll('%2F', '/')

function describeAttempt(
  { operation, method, bucket = '', key = '' }: S3Request,
  answer: HttpAnswer,
  ms: number,
): string {
  const id = answer.headers['x-amz-request-id'] ?? '-'
  return `${operation}: ${method} /${bucket}${key === '' ? '' : `/${key}`} ${answer.status} ${ms.toFixed(1)}ms ${id}`
}

function retryAfterMs(headers: AnswerHeaders): number {
  const seconds = Number(headers['retry-after'])
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, retryAfterSecondsMax) * 1000 : 0
}

const statusCodes: Readonly<Record<number, readonly [code: string, message: string]>> = {
  304: ['NotModified', 'The object has not changed.'],
  401: ['Unauthorized', 'The server wants credentials that it knows.'],
  403: ['AccessDenied', 'The server refuses this to these credentials.'],
  404: ['NotFound', 'There is nothing of that name.'],
  405: ['MethodNotAllowed', 'That is a delete marker, or not to be done with it.'],
  409: ['Conflict', 'The present state does not allow it.'],
  412: ['PreconditionFailed', 'The object has changed since.'],
}

function errorOf(request: S3Request, answer: HttpAnswer): S3Error {
  const { status, headers, body } = answer
  const operation = nameOf(request)
  const requestId = headers['x-amz-request-id']
  if (body.length > 0) {
    try {
      const document = readXml(body, 'Error')
      const code = textOf(document, 'Code')
      if (code) {
        const said = textOf(document, 'Detail') || textOf(document, 'Message') || 'The server gave no reason.'
        const message = wantsClientKey(request, said) ? clientKeyMessage : withKeyDoubted(request, status, said)
        return new S3Error({ status, code, message, requestId, operation, details: textsOf(document) })
      }
    } catch {
      // Not a document of S3, perhaps the answer of a proxy. Only the status is known.
    }
  }
  const [code, message] = statusCodes[status] ?? [`Http${status}`, `The server answered with status ${status}.`]
  return new S3Error({ status, code, message: withKeyDoubted(request, status, message), requestId, operation })
}

/** A key that differs from the object's is refused like wrong credentials: with the status alone. */
function withKeyDoubted({ operation, headers }: S3Request, status: number, message: string): string {
  const opens =
    carriesSourceKey(headers) ||
    ((operation === 'GetObject' || operation === 'HeadObject') && carriesCustomerKey(headers))
  if (status !== 403 || !opens) return message
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`
  return `${sentence} The key that was given (--sse-c) may be another one than the object was encrypted with.`
}

/** AWS' message: the code InvalidRequest alone does not explain the failure. */
const wantsClientKey = ({ operation }: S3Request, message: string): boolean =>
  /^(Get|Head|Copy)Object$|^UploadPartCopy$/.test(operation) &&
  message.startsWith('The object was stored using a form of Server Side Encryption.')

const clientKeyMessage =
  'The object is encrypted with a key of the client (SSE-C): `svcctl stat`, `cat`, `cp` and `mirror` take the file that holds it with ' +
  '--sse-c, and of the source of a copy with --sse-c-source.'

/** CopyObject and CompleteMultipartUpload may begin with 200 and end with an error. */
function hiddenError(request: S3Request, answer: HttpAnswer): S3Error | undefined {
  const { body } = answer
  if (body.length === 0 || !/^\s*(<\?xml[^>]*>\s*)?<Error[\s>]/.test(body.toString('latin1', 0, 1024))) return undefined
  const found = errorOf(request, { ...answer, status: 500 })
  const isPassing = ['InternalError', 'SlowDown', 'ServiceUnavailable', 'RequestTimeout'].includes(found.code)
  return isPassing ? found : errorOf(request, { ...answer, status: statusOf(found.code) })
}

const statusOf = (code: string): number =>
  code.startsWith('NoSuch') ? 404 : code === 'AccessDenied' ? 403 : code === 'PreconditionFailed' ? 412 : 400

function nameOf({ operation, bucket, key }: S3Request): string {
  if (bucket === undefined) return operation
  return `${operation} ${bucket}${key === undefined ? '' : `/${key}`}`
}
