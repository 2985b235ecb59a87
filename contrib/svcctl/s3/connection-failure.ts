/** Failed connections: which failures a retry may cure, and the message for the user. */
import { ConnectionError } from '../errors.ts'

/** Errors of the connection, not of the handling of its data. */
export function isConnectionError(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code
  return (
    typeof code === 'string' && /^(E[A-Z]+|UND_ERR_|HPE_|HTTP_|ERR_TLS|ERR_SSL|CERT_|DEPTH_|UNABLE_|SELF_)/.test(code)
  )
}

export const isRefused = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'

/** Whether a server that ends has reset the connection; undici has its own code for it. */
export const isReset = (error: unknown): boolean =>
  ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Nothing that time heals. */
export function isHopeless(error: NodeJS.ErrnoException): boolean {
  const { code = '' } = error
  return (
    isAnsweredWithoutTls(error) ||
    /^(ENOTFOUND|HPE_|HTTP_|ERR_TLS|ERR_SSL|CERT_|DEPTH_|UNABLE_|SELF_|UND_ERR_INVALID|UND_ERR_NOT_SUPPORTED)/.test(
      code,
    )
  )
}

/** OpenSSL's errors for bytes that are not TLS: the answer of a port with plain HTTP. */
function isAnsweredWithoutTls({ message }: NodeJS.ErrnoException): boolean {
  return /wrong version number|packet length too long|http request/i.test(message)
}

const probeMsMax = 3000

/** Whether the port closed the connection because it requires TLS: Node.js sends nothing to clients without TLS. */
export async function expectsTls(endpoint: string, { code }: NodeJS.ErrnoException): Promise<boolean> {
  const { protocol, hostname, port } = new URL(endpoint)
  if (protocol !== 'http:' || (code !== 'ECONNRESET' && code !== 'UND_ERR_SOCKET')) return false
  const { connect } = await import('node:tls')
  const host = hostname.replace(/^\[|\]$/g, '')
  return new Promise(resolve => {
    // No data is sent, so the certificate is not verified.
    const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false }, () => end(true))
    const end = (isTls: boolean) => {
      socket.destroy()
      resolve(isTls)
    }
    socket.setTimeout(probeMsMax, () => end(false)).on('error', () => end(false))
  })
}

export function tlsExpected(what: string, endpoint: string): ConnectionError {
  const secure = endpoint.replace(/^http:/, 'https:')
  return new ConnectionError('tls_expected', `${what}: ${endpoint} requires TLS: use ${secure}.`)
}

/** `what`: the operation that failed. */
export function connectionFailure(what: string, endpoint: string, error: NodeJS.ErrnoException): ConnectionError {
  const { code = 'failure', message } = error
  if (isAnsweredWithoutTls(error)) {
    const plain = endpoint.replace(/^https:/, 'http:')
    const hint = `${endpoint} speaks HTTP without TLS: its address is ${plain}.`
    return new ConnectionError('no_tls', `${what}: ${hint}`, { cause: error })
  }
  const hint =
    code === 'ECONNREFUSED'
      ? ' Nothing listens there: is the server running?'
      : /^(SELF_|UNABLE_|CERT_|DEPTH_)/.test(code)
        ? ' Its certificate is not trusted: --ca names the authority.'
        : ''
  return new ConnectionError(code, `${what}: no answer from ${endpoint}: ${message || code}.${hint}`, { cause: error })
}
