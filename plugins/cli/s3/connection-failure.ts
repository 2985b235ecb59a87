/** Connections that failed: what a retry may heal, and what a person should know. */
import { ConnectionError } from '../errors.ts'

/** Of the connection, not of what was done with its data. */
export function isConnectionError(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code
  return (
    typeof code === 'string' && /^(E[A-Z]+|UND_ERR_|HPE_|HTTP_|ERR_TLS|ERR_SSL|CERT_|DEPTH_|UNABLE_|SELF_)/.test(code)
  )
}

export const isRefused = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'

/** Nothing that time heals. */
export function isHopeless(error: NodeJS.ErrnoException): boolean {
  const { code = '' } = error
  return /^(ENOTFOUND|HPE_|HTTP_|ERR_TLS|ERR_SSL|CERT_|DEPTH_|UNABLE_|SELF_|UND_ERR_INVALID|UND_ERR_NOT_SUPPORTED)/.test(
    code,
  )
}

/** `what` was to be done. */
export function connectionFailure(what: string, endpoint: string, error: NodeJS.ErrnoException): ConnectionError {
  const { code = 'failure', message } = error
  const hint =
    code === 'ECONNREFUSED'
      ? ' Nothing listens there: is the server running?'
      : /^(SELF_|UNABLE_|CERT_|DEPTH_)/.test(code)
        ? ' Its certificate is not trusted: --ca names the authority.'
        : ''
  return new ConnectionError(code, `${what}: no answer from ${endpoint}: ${message || code}.${hint}`, { cause: error })
}
