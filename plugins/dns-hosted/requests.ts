/** Requests of the API (version 4): JSON in an envelope with a success flag. */
import { PermanentDnsError } from 'svc/plugins/dns/api'
import type { HttpClient } from 'svc/plugins/http-client/api'

const answerBytesMax = 256 * 1024
/** Maximum number of characters of the provider's message in an error. */
const wordsMax = 200

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** From the address of the API, percent-encoded. */
  readonly path: string
  readonly body?: object
  /** Codes of errors that mean that it is done already. */
  readonly doneCodes?: readonly number[]
}

export interface ApiAnswer {
  /** Undefined where it was done already. */
  readonly result: unknown
  readonly pageCount: number
}

export type SendRequest = (request: ApiRequest, signal: AbortSignal) => Promise<ApiAnswer>

interface Envelope {
  readonly success?: boolean
  readonly result?: unknown
  readonly errors?: readonly { readonly code?: unknown; readonly message?: unknown }[]
  readonly result_info?: { readonly total_pages?: unknown }
}

/** Rejects with PermanentDnsError if the provider would refuse a retry; the token is not in the message. */
export function createRequests(client: HttpClient, apiUrl: string, token: string): SendRequest {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json', 'user-agent': 'svc' }
  const { host } = new URL(apiUrl)

  return async ({ method, path, body, doneCodes = [] }, signal) => {
    const { status, body: bytes } = await client.request({
      url: `${apiUrl}${path}`,
      method,
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      answerBytesMax,
      isRepeatable: true,
    })
    const envelope = parse(bytes)
    if (status >= 200 && status < 300 && envelope?.success === true) {
      const pages = envelope.result_info?.total_pages
      return { result: envelope.result, pageCount: typeof pages === 'number' ? pages : 1 }
    }
    const [error] = envelope?.errors ?? []
    if (typeof error?.code === 'number' && doneCodes.includes(error.code)) return { result: undefined, pageCount: 1 }
    throw problemOf(host, status, error, token)
  }
}

function parse(bytes: Buffer): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    // Gateways answer with HTML pages: only the status is useful.
    return undefined
  }
}

function problemOf(
  host: string,
  status: number,
  error: { readonly code?: unknown; readonly message?: unknown } | undefined,
  token: string,
): Error {
  const { code, message } = error ?? {}
  const words = typeof message === 'string' ? `: ${message.slice(0, wordsMax).replaceAll(token, '*****')}` : ''
  const said = `${host} answers ${status}${typeof code === 'number' ? ` (${code}${words})` : ''}`
  if (status === 401 || status === 403)
    return new PermanentDnsError(`the API token is wrong or lacks the permission: ${said}`)
  const isPassing = status < 400 || status >= 500 || status === 408 || status === 429
  return isPassing ? new Error(said) : new PermanentDnsError(said)
}
