/**
 * The connection to a certificate authority, by `acme-client`. The library signs and implements the protocol (RFC 8555). Its requests go
 * through our own client, which checks addresses, bounds answers and follows no redirect. Its own retries are off, because their pauses
 * are as long as a header of the answer says.
 */
import type * as Acme from 'acme-client'
import type { Clock } from 'svc/kernel'
import { type HttpClient, HttpClientError } from 'svc/plugins/http-client/api'
import { OrderFailure } from './failure.ts'

const answerBytesMax = 256 * 1024
const messageLengthMax = 500

export type AcmeClient = Acme.Client
export type AcmeLibrary = typeof Acme

interface Problem {
  readonly type?: string
  readonly detail?: string
  readonly subproblems?: readonly { readonly detail?: string; readonly identifier?: { readonly value?: string } }[]
}

const problemPrefix = 'urn:ietf:params:acme:error:'

/** Loaded with the first order: most servers order nothing, and it brings 60 modules. Its settings are its module's, hence set once. */
export async function loadAcme(http: HttpClient, clock: Clock): Promise<AcmeLibrary> {
  const loaded = (await import('acme-client')) as AcmeLibrary & { default?: AcmeLibrary }
  const library = loaded.default ?? loaded
  const defaults = library.axios.defaults as unknown as Record<string, unknown> & {
    acmeSettings: Record<string, unknown>
  }
  defaults.acmeSettings.retryMaxAttempts = 0
  defaults.adapter = (request: AdapterRequest) => send(request, http, clock)
  return library
}

interface AdapterRequest {
  readonly url: string
  readonly method: string
  readonly data?: string
  readonly headers: { toJSON(): Record<string, string> }
}

async function send(request: AdapterRequest, http: HttpClient, clock: Clock) {
  const { url, method, data, headers } = request
  // The authority names its own URLs; credentials of the account are only sent over TLS.
  if (!url.startsWith('https:')) throw new OrderFailure('The authority has named a URL that is no https URL.')
  const {
    status,
    headers: received,
    body,
  } = await http.request({
    url,
    method: method.toUpperCase(),
    headers: { ...headers.toJSON(), 'accept-language': 'en' },
    body: data,
    answerBytesMax,
  })
  const text = body.toString('utf8')
  if (status >= 400) {
    const problem = problemOf(text)
    // The library sends the request again with another nonce, at most five times.
    if (problem.type !== `${problemPrefix}badNonce`)
      throw failureOfProblem(status, problem, received['retry-after'], clock.now())
  }
  return { data: text, status, statusText: '', headers: received, config: request, request: undefined }
}

function problemOf(text: string): Problem {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    // Not a problem document, perhaps from a load balancer of the authority: the status must suffice.
    return {}
  }
}

function failureOfProblem(
  status: number,
  { type = '', detail = '', subproblems = [] }: Problem,
  retryAfter: string | string[] | undefined,
  nowMs: number,
): OrderFailure {
  const name = type.startsWith(problemPrefix) ? type.slice(problemPrefix.length) : type
  const words = plainWords(detail) || `status ${status}`
  const failedNames = subproblems.flatMap(({ identifier, detail: error = '' }) =>
    identifier?.value === undefined ? [] : [{ domain: identifier.value, step: 'order', error: plainWords(error) }],
  )
  return new OrderFailure(`The authority answered: ${words}${name === '' ? '' : ` (${name})`}`, {
    status,
    type: name,
    failedNames,
    isTransient: status >= 500,
    retryAfterMs: parseRetryAfter(String(retryAfter ?? ''), nowMs),
  })
}

/** Text of a third party: one line, bounded. */
export function plainWords(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, messageLengthMax)
}

/** Seconds or a date (RFC 9110, 10.2.3), as milliseconds from now; 0 where there is nothing of either. */
export function parseRetryAfter(text: string, nowMs: number): number {
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? 0 : Math.max(0, date - nowMs)
}

/** Errors of the library itself, which no longer have the answer. */
export function isNetworkError(error: unknown): boolean {
  return error instanceof HttpClientError
}
