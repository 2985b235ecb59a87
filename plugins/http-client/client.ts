/**
 * A client over undici. Addresses are checked when a connection is made: a literal before it, a name in the lookup whose result is used
 * for the connection, so that no name is resolved a second time in between.
 */
import type { Clock } from 'svc/kernel'
import type { Agent, Dispatcher, request as UndiciRequest } from 'undici'
import type { AddressGuard, HttpClient, HttpClientAnswer, HttpClientOptions, HttpClientRequest } from './api.ts'
import { createConnector } from './connector.ts'
import { HttpClientError } from './error.ts'
import { httpClientErrorOf } from './network-errors.ts'
import { readTlsFiles, type TlsFiles } from './tls-files.ts'

/** Maximum unread bytes of an answer that are drained, so that its connection can be reused; a longer answer closes the connection. */
const droppedBytesMax = 16 * 1024
/** How long the rest of an answer may take until it costs the connection, too. */
const dropMs = 1000
const headerBytesMax = 16 * 1024
const connectionsMaxDefault = 8
/** Shorter than the usual idle time of servers, so that they seldom close a connection as we use it. */
const idleMs = 4000

export interface ClientOptions extends HttpClientOptions {
  readonly guard: AddressGuard
  readonly clock: Clock
  count(result: string): void
  onClose(): void
}

export function createClient(options: ClientOptions): HttpClient {
  const { timeoutMs, clock, count } = options
  const connector = createConnector(options)
  /** All agents with connections: the current one, and former ones with unfinished requests. */
  const agents = new Set<Agent>()
  let agent: Agent | undefined
  let sendRequest: typeof UndiciRequest
  let opening: Promise<Agent> | undefined
  let isClosed = false

  function makeAgent(files: TlsFiles, { Agent, buildConnector, request }: typeof import('undici')): Agent {
    sendRequest = request
    agent = new Agent({
      connections: options.connectionsMax ?? connectionsMaxDefault,
      connect: connector.connectWith(files, buildConnector),
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: headerBytesMax,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: 60_000,
      // The deadline of each request is ours.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    agents.add(agent)
    return agent
  }

  async function open(): Promise<Agent> {
    // Most servers connect to nothing: its 100 modules are loaded with the first connection.
    const [undici, files] = await Promise.all([import('undici'), readTlsFiles(options.tls)])
    if (isClosed) throw closedError()
    return makeAgent(files, undici)
  }

  /** After a failure the files are read again, because they may have been renewed. Running requests end with their connections. */
  function forget(used: Agent | undefined): void {
    if (options.tls === undefined || used === undefined || used !== agent) return
    agent = undefined
    opening = undefined
    // Resolves when the last of its requests has ended; their callers get the results.
    used.close().then(
      () => agents.delete(used),
      () => agents.delete(used),
    )
  }

  function opened(): Promise<Agent> {
    opening ??= open().catch(error => {
      opening = undefined
      throw error
    })
    return opening
  }

  async function attempt(request: HttpClientRequest, signal: AbortSignal): Promise<HttpClientAnswer> {
    const used = agent ?? (await opened())
    const { url, headers, body, method = body === undefined ? 'GET' : 'POST', answerBytesMax = 0 } = request
    try {
      const answer = await sendRequest(url, { dispatcher: used, method, headers, body, signal })
      const { statusCode: status, headers: received } = answer
      if (answerBytesMax > 0) return { status, headers: received, body: await readBody(answer.body, answerBytesMax) }
      drop(answer.body)
      return { status, headers: received, body: emptyBody }
    } catch (error) {
      if (!signal.aborted) forget(used)
      throw error
    }
  }

  /** Whatever becomes of the rest of an answer: its status is known. */
  function drop(body: Dispatcher.ResponseData['body']): void {
    const cancel = clock.after(dropMs, () => body.destroy())
    body.once('close', cancel)
    body.dump({ limit: droppedBytesMax }).catch(() => {})
  }

  async function withinDeadline(request: HttpClientRequest): Promise<HttpClientAnswer> {
    const controller = new AbortController()
    const { signal } = request
    const abort = () => controller.abort(new HttpClientError('aborted', 'the request was given up'))
    if (isClosed) throw closedError()
    if (signal?.aborted) throw new HttpClientError('aborted', 'the request was given up')
    signal?.addEventListener('abort', abort, { once: true })
    const onTimeout = () => controller.abort(new HttpClientError('timeout', `no answer within ${timeoutMs} ms`))
    const cancelTimeout = clock.after(timeoutMs, onTimeout)
    try {
      const first = attempt(request, controller.signal)
      if (request.isRepeatable !== true) return await first
      return await first.catch(error => {
        if (controller.signal.aborted || isClosed || !isLostConnection(error)) throw error
        return attempt(request, controller.signal)
      })
    } catch (error) {
      throw isClosed ? closedError() : httpClientErrorOf(error, request.url)
    } finally {
      cancelTimeout()
      signal?.removeEventListener('abort', abort)
    }
  }

  return {
    async request(request) {
      try {
        const answer = await withinDeadline(request)
        count(`${Math.floor(answer.status / 100)}xx`)
        return answer
      } catch (error) {
        count((error as HttpClientError).reason)
        throw error
      }
    },
    async close() {
      if (isClosed) return
      isClosed = true
      connector.close()
      options.onClose()
      await Promise.all([...agents].map(used => used.destroy()))
    },
  }
}

const emptyBody = Buffer.alloc(0)

const closedError = (): HttpClientError => new HttpClientError('closed', 'the connection was closed by us')

/** The other end has closed a connection that was kept, as it may at any time. */
function isLostConnection(error: unknown): boolean {
  const { code } = error as { code?: string }
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE'
}

async function readBody(body: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  for await (const chunk of body) {
    sizeBytes += chunk.length
    if (sizeBytes > bytesMax) throw new HttpClientError('answer', `the answer is longer than ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
