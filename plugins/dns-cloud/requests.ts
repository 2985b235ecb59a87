/** Signed requests of the API, repeated where it asks for that. */
import type { Clock } from 'svc/kernel'
import { type Signer, signRequest } from 'svc/plugins/auth-sigv4/api'
import { PermanentDnsError, pause } from 'svc/plugins/dns/api'
import type { HttpClient } from 'svc/plugins/http-client/api'
import { errorCodeOf, parseDocument } from './documents.ts'
import type { CloudSettings } from './settings.ts'

const version = '/2013-04-01'
const answerBytesMax = 256 * 1024
/** Pauses after which a request that came too early, or too often, is sent again. */
const repeatMs = [500, 1000, 2000, 4000, 8000] as const
const passingCodes = new Set(['Throttling', 'ThrottlingException', 'PriorRequestNotComplete'])
/** The set of records was changed in between; it is read again. */
const racingCodes = new Set(['InvalidChangeBatch'])

export interface ApiRequest {
  readonly method: 'GET' | 'POST'
  /** Behind the version; with nothing to encode in it. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: string
}

// biome-ignore lint/suspicious/noExplicitAny: see documents.ts
export type SendRequest = (request: ApiRequest, signal: AbortSignal) => Promise<any>

/** Rejects with PermanentDnsError if a retry would be refused. Messages have the codes of the service and none of its texts. */
export function createRequests(client: HttpClient, apiUrl: string, settings: CloudSettings, clock: Clock): SendRequest {
  const { accessKeyId, secretAccessKey, region, sessionToken = '' } = settings
  const signer: Signer = { accessKey: accessKeyId, secret: secretAccessKey, region, service: 'route53' }
  const { host, origin, pathname } = new URL(apiUrl)
  const base = `${pathname === '/' ? '' : pathname}${version}`

  async function attempt({ method, path, query = {}, body }: ApiRequest, signal: AbortSignal) {
    const search = new URLSearchParams(query).toString()
    const signed = signRequest(signer, {
      method,
      host,
      path: `${base}${path}`,
      query: search,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/xml' }),
        ...(sessionToken === '' ? {} : { 'x-amz-security-token': sessionToken }),
      },
      payload: body === undefined ? undefined : Buffer.from(body),
      nowMs: clock.now(),
    })
    const { host: _, ...headers } = signed.headers
    const url = `${origin}${base}${path}${search === '' ? '' : `?${search}`}`
    return client.request({ url, method, headers, body, signal, answerBytesMax, isRepeatable: method === 'GET' })
  }

  return async (request, signal) => {
    for (let sent = 0; ; sent++) {
      const { status, body } = await attempt(request, signal)
      if (status >= 200 && status < 300) return parseDocument(body)
      const code = errorCodeOf(body)
      const delayMs = repeatMs[sent]
      if (!passingCodes.has(code) || delayMs === undefined) throw problemOf(host, status, code)
      await pause(clock, delayMs, signal)
    }
  }
}

function problemOf(host: string, status: number, code: string): Error {
  const said = `${host} answers ${status}${code === '' ? '' : ` (${code})`}`
  if (code === 'NoSuchHostedZone') return new PermanentDnsError(`there is no hosted zone with this id: ${said}`)
  if (status === 401 || status === 403)
    return new PermanentDnsError(`the access key is wrong or lacks the permission: ${said}`)
  const isPassing =
    status < 400 || status >= 500 || status === 408 || status === 429 || passingCodes.has(code) || racingCodes.has(code)
  return isPassing ? new Error(said) : new PermanentDnsError(said)
}
