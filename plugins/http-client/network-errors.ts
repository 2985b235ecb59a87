/** Network errors as sentences. Messages of third parties may repeat request data or be arbitrary: only codes are used. */
import { HttpClientError, type HttpClientErrorReason } from './error.ts'

const known: Readonly<Record<string, readonly [HttpClientErrorReason, string]>> = {
  ECONNREFUSED: ['unreachable', 'refuses connections'],
  ECONNRESET: ['unreachable', 'closes the connection without an answer'],
  EPIPE: ['unreachable', 'closes the connection without an answer'],
  UND_ERR_SOCKET: ['unreachable', 'closes the connection without an answer'],
  EHOSTUNREACH: ['unreachable', 'cannot be reached: there is no way to it'],
  ENETUNREACH: ['unreachable', 'cannot be reached: there is no way to it'],
  ENOTFOUND: ['unreachable', 'is a name that does not resolve'],
  EAI_AGAIN: ['unreachable', 'is a name that cannot be resolved now'],
  ETIMEDOUT: ['timeout', 'does not take connections in time'],
  UND_ERR_CONNECT_TIMEOUT: ['timeout', 'does not take connections in time'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['tls', 'shows a certificate for another name'],
  CERT_HAS_EXPIRED: ['tls', 'shows a certificate that has expired'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['tls', 'shows a certificate that is not trusted'],
  SELF_SIGNED_CERT_IN_CHAIN: ['tls', 'shows a certificate that is not trusted'],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['tls', 'shows a certificate that is not trusted'],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['tls', 'shows a certificate that is not trusted'],
  EPROTO: ['tls', 'does not speak TLS as it should'],
  UND_ERR_HEADERS_OVERFLOW: ['answer', 'answers with more headers than are read'],
}

export function httpClientErrorOf(error: unknown, url: string): HttpClientError {
  const { host } = new URL(url)
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    // Some versions of undici wrap the error of a connection in their own.
    if (at instanceof HttpClientError)
      return at.message.includes(host) ? at : new HttpClientError(at.reason, `${host}: ${at.message}`)
    // Of several addresses that failed, the first.
    if (at instanceof AggregateError && at.errors[0] instanceof Error) return httpClientErrorOf(at.errors[0], url)
  }
  const code = codeOf(error)
  const entry = known[code]
  if (entry !== undefined) return new HttpClientError(entry[0], `${host} ${entry[1]}`)
  if (namesOf(error).includes('HTTPParserError'))
    return new HttpClientError('answer', `the answer of ${host} is not HTTP`)
  if (/^(ERR_(SSL|TLS|OSSL)|CERT_|UNABLE_TO_|CRL_|INVALID_CA)/.test(code)) {
    return new HttpClientError('tls', `${host}: TLS fails (${code})`)
  }
  return new HttpClientError('unreachable', `${host} cannot be asked (${code || 'unknown error'})`)
}

function namesOf(error: unknown): string[] {
  return error instanceof Error ? [error.name, ...namesOf(error.cause)] : []
}

function codeOf(error: unknown): string {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code)) return code
  }
  return ''
}
