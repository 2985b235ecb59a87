/** Requests of the Admin API: signed, sent again where that is safe, their problem documents made readable. */
import type { Alias } from '../aliases.ts'
import { AdminError, type AdminProblem, CliError, failure, untold } from '../errors.ts'
import { encodeName } from '../s3/client.ts'
import { createConnection } from '../s3/connection.ts'
import {
  connectionFailure,
  expectsTls,
  isConnectionError,
  isHopeless,
  isRefused,
  isReset,
  tlsExpected,
} from '../s3/connection-failure.ts'
import type { BodySink, HttpAnswer } from '../s3/messages.ts'
import { createRetries, type Failure, tellsRestart } from '../s3/retries.ts'
import { createSigner } from '../s3/signing.ts'

export interface AdminRequest {
  /** The operationId: for messages. */
  readonly operation: string
  readonly method: string
  /** Relative to `/api/v1`, percent-encoded. */
  readonly path: string
  readonly query?: readonly (readonly [name: string, value: string])[]
  readonly body?: unknown
  /** Instead of a body: of this media type. */
  readonly bytes?: { readonly type: string; readonly content: Buffer }
  /** The ETag, with or without quotes. */
  readonly ifMatch?: string
  /** The answer is text of this media type. */
  readonly textType?: string
  /** Accepts answers that are not JSON: a stream of events, or a file. */
  readonly sink?: BodySink
  /** Sent once: the caller wants to know how the server is at this moment. */
  readonly isProbe?: boolean
  readonly signal?: AbortSignal
}

export interface AdminAnswer {
  readonly status: number
  /** Undefined where there is none. */
  readonly body: unknown
  readonly etag: string | undefined
}

export interface AdminClient {
  readonly endpoint: string
  /** Throws AdminError, or CliError when no answer is to be had. */
  send(request: AdminRequest): Promise<AdminAnswer>
  close(): Promise<void>
}

export interface AdminClientOptions {
  readonly alias: Alias
  /** Default: the Admin API of the alias, or the port after that of its endpoint. */
  readonly adminUrl: string | undefined
  readonly timeoutMs: number
  /** One line per attempt, without secrets. */
  readonly debug: ((line: string) => void) | undefined
}

const base = '/api/v1'
const attemptCountMax = 4
const firstPauseMs = 800
/** Refused before anything was done. */
const refusedForNow = new Set([429, 503])

export function adminUrlOf({ endpoint, adminUrl }: Alias): string {
  return adminUrl ?? nextPort(endpoint)
}

const nextPort = (endpoint: string): string => besidePort(endpoint, 1)

/** The same address with its port increased by the distance. */
export function besidePort(endpoint: string, distance: number): string {
  const url = new URL(endpoint)
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  url.port = String(port + distance)
  return url.origin
}

export function createAdminClient({ alias, adminUrl, timeoutMs, debug }: AdminClientOptions): AdminClient {
  const endpoint = adminUrl ?? adminUrlOf(alias)
  const { host } = new URL(endpoint)
  const signer = createSigner(alias)
  const connection = createConnection({
    origin: endpoint,
    connectionCount: 4,
    timeoutMs,
    ca: alias.ca,
    isInsecure: alias.insecure === true,
  })

  async function attempt(request: AdminRequest): Promise<HttpAnswer> {
    const { method, ifMatch } = request
    const path = base + request.path
    const query = (request.query ?? []).map(pair => pair.map(encodeName).join('=')).join('&')
    const body = request.body === undefined ? request.bytes?.content : Buffer.from(JSON.stringify(request.body))
    const headers = signer.signRequest({
      method,
      host,
      path,
      query,
      headers: {
        accept: request.sink === undefined ? (request.textType ?? 'application/json') : '*/*',
        ...(body === undefined ? undefined : { 'content-type': request.bytes?.type ?? 'application/json' }),
        ...(ifMatch === undefined ? undefined : { 'if-match': ifMatch }),
      },
      payload: body,
      nowMs: Date.now(),
    })
    const startedMs = performance.now()
    const answer = await connection.send({
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers: body === undefined ? headers : { ...headers, 'content-length': String(body.length) },
      body,
      sink: request.sink,
      signal: request.signal,
    })
    debug?.(
      `${request.operation}: ${method} ${path} ${answer.status} ${(performance.now() - startedMs).toFixed(1)}ms ` +
        `${answer.headers['x-request-id'] ?? '-'}`,
    )
    return answer
  }

  const retries = createRetries({
    attemptCountMax,
    pauseMsAfter: attemptNumber => firstPauseMs * 2 ** (attemptNumber - 1),
  })

  function failureOfAnswer(request: AdminRequest, answer: HttpAnswer): Failure {
    const error = problemOf(request, endpoint, answer)
    const isRestart = tellsRestart(answer, error.message)
    retries.answered(isRestart)
    return { error, mayRetry: refusedForNow.has(answer.status), isRestart }
  }

  async function failureOfConnection({ operation, method }: AdminRequest, cause: NodeJS.ErrnoException) {
    const { hasAnswered } = retries
    if (!hasAnswered && (await expectsTls(endpoint, cause))) throw tlsExpected(operation, endpoint)
    const failed = connectionFailure(operation, endpoint, cause)
    debug?.(`${operation}: ${cause.message}`)
    // What is refused has not been executed; what breaks may have been: a second attempt could be refused, or change something else.
    const mayRetry = isRefused(cause) ? hasAnswered : method === 'GET' && !isHopeless(cause)
    return {
      error: isRefused(cause) && !hasAnswered ? withHint(failed.message) : failed,
      mayRetry,
      isRestart: hasAnswered && (isRefused(cause) || isReset(cause)),
    }
  }

  return {
    endpoint,
    async send(request) {
      const goOn = retries.begin()
      for (;;) {
        let failed: Failure
        try {
          const answer = await attempt(request)
          if (answer.status < 300) {
            retries.answered()
            return readAnswer(request, endpoint, answer)
          }
          failed = failureOfAnswer(request, answer)
        } catch (cause) {
          if (cause instanceof CliError || request.signal?.aborted || !isConnectionError(cause)) throw cause
          failed = await failureOfConnection(request, cause as NodeJS.ErrnoException)
        }
        if (request.sink !== undefined || request.isProbe === true) throw failed.error
        await goOn(failed, request.signal)
      }
    },
    close: () => connection.close(),
  }
}

const withHint = (message: string): CliError =>
  failure('ECONNREFUSED', `${message} Use --admin-url if the Admin API is not at the port after that of S3.`)

function readAnswer(request: AdminRequest, endpoint: string, answer: HttpAnswer): AdminAnswer {
  const { status, headers, body } = answer
  const etag = headers.etag?.replace(/^"|"$/g, '')
  if (request.textType !== undefined && headers['content-type']?.startsWith(request.textType) === true) {
    return { status, body: body.toString('utf8'), etag }
  }
  if (body.length === 0) return { status, body: undefined, etag }
  const parsed = isJson(headers['content-type']) ? parse(body) : undefined
  if (parsed === undefined) throw notTheApi(request, endpoint, answer)
  return { status, body: parsed, etag }
}

const isJson = (type: string | undefined): boolean => /^application\/(problem\+)?json\b/.test(type ?? '')

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined // The caller reports the mismatch: this is not an answer of the Admin API.
  }
}

function notTheApi({ operation }: AdminRequest, endpoint: string, { status, headers }: HttpAnswer): CliError {
  // S3 servers send a request id with every answer, for any path.
  const isS3 = headers['x-amz-request-id'] !== undefined && !isJson(headers['content-type'])
  const where = isS3
    ? `${endpoint} is the address of S3. The Admin API is at the address of the console: name it with --admin-url; the default is ` +
      `${nextPort(endpoint)}.`
    : `${endpoint} answers (${status}), but is not the Admin API of svc. Name its address with --admin-url.`
  return failure('no_admin_api', `${operation}: ${where}`)
}

interface ProblemDocument {
  readonly code?: string
  readonly detail?: string
  readonly title?: string
  readonly requestId?: string
  readonly errors?: readonly Readonly<Record<string, unknown>>[]
  readonly ruleErrors?: readonly Readonly<Record<string, unknown>>[]
  readonly accessRuleErrors?: readonly Readonly<Record<string, unknown>>[]
}

function problemOf(request: AdminRequest, endpoint: string, { status, headers, body }: HttpAnswer): CliError {
  const document = isJson(headers['content-type']) ? (parse(body) as ProblemDocument | undefined) : undefined
  if (typeof document?.code !== 'string') return notTheApi(request, endpoint, { status, headers, body })
  const { code, title = `Status ${status}.`, detail = title, requestId } = document
  const { errors = [], ruleErrors = [], accessRuleErrors = [] } = document
  const problems = [...errors.map(problemAt), ...ruleErrors.map(problemOfRule), ...accessRuleErrors.map(problemInRule)]
  return new AdminError({
    status,
    code,
    message: detail,
    requestId,
    operation: request.operation,
    problems: untold(detail, problems),
  })
}

export function problemAt({
  element,
  statement,
  line,
  column,
  message,
}: Readonly<Record<string, unknown>>): AdminProblem {
  const places = [
    line === undefined || line === 0 ? '' : `line ${line}, column ${column}`,
    statement === undefined ? '' : `statement ${statement}`,
    element ?? '',
  ]
  return { place: places.filter(Boolean).join(', '), message: String(message) }
}

function problemInRule(problem: Readonly<Record<string, unknown>>): AdminProblem {
  const { rule, id, field, position, message } = problem
  const place = Number(rule) < 0 ? '' : `rule ${id === '' ? rule : JSON.stringify(id)}`
  const at = Number(position) > 0 ? `, character ${Number(position) + 1}` : ''
  return { place: [place, field].filter(Boolean).join(', ') + at, message: String(message) }
}

function problemOfRule({ rule, id, message }: Readonly<Record<string, unknown>>): AdminProblem {
  return { place: id === undefined ? (Number(rule) < 0 ? '' : `rule ${rule}`) : `rule ${id}`, message: String(message) }
}
