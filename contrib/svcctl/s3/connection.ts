/**
 * Connections to one endpoint, of two kinds:
 *
 * - undici's pool, through `dispatch`, for every request that changes something. The body of an answer goes to a sink as it arrives; a
 *   sink that returns a promise pauses the socket until the promise settles.
 * - our own lines (`direct-line.ts`) for HEAD and GET. They read bodies into memory of the caller, and reading commands do not load undici,
 *   which takes as long as the shortest commands do. Measured: docs/design/performance.md.
 */
import { readFileSync } from 'node:fs'
import type { Dispatcher, Pool } from 'undici'
import { failure } from '../errors.ts'
import { closed, createDirectConnection, type DirectConnection } from './direct-connection.ts'
import type { DirectRequest } from './direct-line.ts'
import { type BodySink, gatheredBytesMax, type HttpAnswer, type HttpRequest, pour, type RoomSink } from './messages.ts'

export interface ConnectionOptions {
  /** `http://host:port`. */
  readonly origin: string
  readonly connectionCount: number
  /** The longest silence of the server: while connecting, before its answer, and within it. */
  readonly timeoutMs: number
  /** Path of a PEM file. */
  readonly ca: string | undefined
  readonly isInsecure: boolean
}

export interface Connection {
  send(request: HttpRequest): Promise<HttpAnswer>
  close(): Promise<void>
}

const connectTimeoutMsMax = 10_000
/** Shorter than servers keep unused connections. */
const keepAliveMs = 4000
/** Larger bodies are sent in slices, so that each slice renews the deadlines. */
const sliceBytes = 1 << 18

export function createConnection(options: ConnectionOptions): Connection {
  const { origin, connectionCount, timeoutMs, isInsecure } = options
  const connectTimeoutMs = Math.min(timeoutMs, connectTimeoutMsMax)
  const ca = options.ca === undefined ? undefined : readAuthorities(options.ca)
  let direct: DirectConnection | undefined
  let pool: Promise<Pool> | undefined
  let isClosed = false
  /** Kinds of requests whose answers the direct lines could not parse from this server: undici sends later ones. */
  const unsuited = new Set<ReadKind>()

  async function openPool(): Promise<Pool> {
    const { Pool } = await import('./undici.ts')
    return new Pool(origin, {
      connections: connectionCount,
      allowH2: false,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      keepAliveTimeout: keepAliveMs,
      connect: {
        timeout: connectTimeoutMs,
        ...(isInsecure ? { rejectUnauthorized: false } : undefined),
        ...(ca === undefined ? undefined : { ca }),
      },
    })
  }

  async function dispatch(request: HttpRequest): Promise<HttpAnswer> {
    if (isClosed) throw closed()
    pool ??= openPool()
    const opened = await pool
    return new Promise((resolve, reject) => {
      opened.dispatch(
        {
          path: request.path,
          method: request.method as Dispatcher.HttpMethod,
          headers: request.headers as Record<string, string>,
          // undici accepts asynchronous iterables; its types do not include them here.
          body: request.body === undefined ? null : (bodyOf(request.body, request.onSent) as Buffer),
        },
        new Exchange(request, resolve, reject),
      )
    })
  }

  async function sendDirect(request: DirectRequest, kind: ReadKind): Promise<HttpAnswer> {
    direct ??= createDirectConnection({
      origin,
      connectionCount,
      timeoutMs,
      connectTimeoutMs,
      keepAliveMs,
      ca,
      isInsecure,
    })
    const answer = await direct.get(request)
    if (answer !== undefined) return answer
    unsuited.add(kind)
    return dispatch(request)
  }

  return {
    send(request) {
      const kind = readKindOf(request)
      return kind === undefined || unsuited.has(kind) ? dispatch(request) : sendDirect(request as DirectRequest, kind)
    },
    async close() {
      isClosed = true
      direct?.close()
      await (await pool)?.destroy()
    },
  }
}

/** They differ by server: many state the length of objects but send documents in chunks. */
type ReadKind = 'object' | 'document'

/** Undefined: a request for undici. */
function readKindOf({ method, sink }: HttpRequest): ReadKind | undefined {
  if (method === 'HEAD') return 'document'
  if (method !== 'GET') return undefined
  if (sink === undefined) return 'document'
  return 'room' in sink ? 'object' : undefined
}

function readAuthorities(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw failure('bad_ca', `The authorities cannot be read: ${(cause as Error).message}`, cause)
  }
}

function bodyOf(body: Buffer, onSent: ((byteCount: number) => void) | undefined) {
  return body.length <= sliceBytes && onSent === undefined ? body : slicesOf(body, onSent)
}

async function* slicesOf(body: Buffer, onSent: ((byteCount: number) => void) | undefined) {
  for (let at = 0; at < body.length; at += sliceBytes) {
    const slice = body.subarray(at, at + sliceBytes)
    yield slice
    onSent?.(slice.length)
  }
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest
  readonly #resolve: (answer: HttpAnswer) => void
  readonly #reject: (error: unknown) => void
  #status = 0
  #headers: Record<string, string> = {}
  #sink: BodySink | RoomSink | undefined
  #chunks: Buffer[] = []
  #byteCount = 0
  /** The work of the sink: the answer is complete after it. */
  #pending: Promise<void> | undefined
  #onAbort: (() => void) | undefined

  constructor(request: HttpRequest, resolve: (answer: HttpAnswer) => void, reject: (error: unknown) => void) {
    this.#request = request
    this.#resolve = resolve
    this.#reject = reject
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { signal } = this.#request
    if (signal === undefined) return
    if (signal.aborted) {
      controller.abort(signal.reason as Error)
      return
    }
    this.#onAbort = () => controller.abort(signal.reason as Error)
    signal.addEventListener('abort', this.#onAbort)
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return
    this.#status = status
    for (const name in headers) {
      const value = headers[name]
      if (value !== undefined) this.#headers[name] = typeof value === 'string' ? value : value.join(', ')
    }
    if (status >= 300) return
    this.#sink = this.#request.sink
    try {
      this.#sink?.start?.(this.#headers)
    } catch (error) {
      controller.abort(error as Error)
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // If the pause falls on the end of the received data, undici 8.12 resumes without data: another pause would never end.
    if (chunk.length === 0) return
    this.#byteCount += chunk.length
    if (this.#sink === undefined) {
      if (this.#byteCount > gatheredBytesMax) {
        controller.abort(failure('bad_answer', 'The answer is larger than any document of S3.'))
      } else this.#chunks.push(chunk)
      return
    }
    let taken: void | Promise<void>
    try {
      taken = 'data' in this.#sink ? this.#sink.data(chunk) : pour(this.#sink, chunk)
    } catch (error) {
      controller.abort(error as Error)
      return
    }
    if (taken === undefined) return
    controller.pause()
    this.#pending = taken
    taken.then(
      () => {
        this.#pending = undefined
        controller.resume()
      },
      error => controller.abort(error as Error),
    )
  }

  onResponseEnd(): void {
    this.#release()
    const answer = { status: this.#status, headers: this.#headers, body: Buffer.concat(this.#chunks) }
    if (this.#pending === undefined) this.#resolve(answer)
    else this.#pending.then(() => this.#resolve(answer), this.#reject)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#release()
    // The sink finishes its write before anybody handles the error.
    if (this.#pending === undefined) this.#reject(error)
    else this.#pending.then(() => this.#reject(error), this.#reject)
  }

  #release(): void {
    if (this.#onAbort !== undefined) this.#request.signal?.removeEventListener('abort', this.#onAbort)
  }
}
