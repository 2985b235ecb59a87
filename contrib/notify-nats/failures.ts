/** Failures of NATS in our words, because those of a server may repeat the request. */
import { JetStreamApiError } from '@nats-io/jetstream'
import { errors } from '@nats-io/transport-node'
import { HttpClientError } from 'svc/plugins/http-client/api'

/** Unusable files and keys, with a message of ours. */
export class SetupError extends Error {}

export interface Failure {
  /** A sentence without its subject: `refuses the user`. No secrets. */
  readonly reason: string
  /** The server will never take the message. */
  readonly isPermanent: boolean
}

/** Source: server/errors.json of nats-server. */
const streamRefusals: Readonly<Record<number, string>> = {
  10023: 'the server has too little space for the stream',
  10047: 'the server has too little space for the stream',
  10052: 'the account may store no more',
  10077: 'the stream is full, or sealed',
}
const tooLarge = 10054
/** Messages of nats-server that do not repeat the request. */
const knownWords = /maximum (account active )?connections exceeded|slow consumer|stale connection|server shutdown/i

export function reasonOf(error: unknown): Failure {
  if (isTooLarge(error)) return { reason: 'the event is too large for the server', isPermanent: true }
  return { reason: sentence(error), isPermanent: false }
}

function isTooLarge(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return error.code === tooLarge
  return error instanceof errors.InvalidArgumentError && error.message.includes('max_payload')
}

function sentence(error: unknown): string {
  if (error instanceof SetupError || error instanceof HttpClientError) return error.message
  if (error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError) {
    return 'it refuses the user, the token or the key'
  }
  if (error instanceof errors.PermissionViolationError) {
    return error.operation === 'publish'
      ? 'it does not let this user publish to the subject'
      : 'it does not let this user receive acknowledgements: `_INBOX.>`'
  }
  if (error instanceof errors.NoRespondersError) return 'no stream has the subject'
  if (error instanceof JetStreamApiError) {
    return streamRefusals[error.code] ?? `the stream refuses the event: error ${error.code}`
  }
  if (error instanceof errors.TimeoutError) return 'it does not answer in time'
  const isOfOptions = error instanceof errors.InvalidArgumentError || error instanceof errors.ConnectionError
  if (isOfOptions && error.message.includes("'tls'")) return 'it has no TLS'
  const { code, message, cause } = Object(error) as { code?: unknown; message?: unknown; cause?: unknown }
  // Of Node.js: ENOTFOUND, DEPTH_ZERO_SELF_SIGNED_CERT, ERR_TLS_CERT_ALTNAME_INVALID
  if (typeof code === 'string' && /^[A-Z0-9_]+$/.test(code)) return `it cannot be reached: ${code}`
  if (cause !== undefined && cause !== error) return sentence(cause)
  const known = knownWords.exec(String(message))
  return known === null ? 'the connection ended, or what it answers is not NATS' : known[0].toLowerCase()
}
