/** Authenticates a request through the chain of `iam`: a signature in the Authorization header, or the cookie of a console session. */
import { isCatalogError } from 'svc/kernel'
import type { Exchange } from 'svc/plugins/http/api'
import type { ActiveSession, Authentication, AuthSessionService, IamService, Identity } from 'svc/plugins/iam/api'
import type { AdminOperation } from './api.ts'
import { adminErrors } from './errors.ts'

export interface Caller {
  readonly identity: Identity | undefined
  readonly session: ActiveSession | undefined
  /** The form of the body according to the signature. */
  readonly signature: Authentication | undefined
}

export interface AuthenticationServices {
  readonly authSession: Pick<AuthSessionService, 'originOf'>
  readonly iam: Pick<IamService, 'authenticate' | 'credentials' | 'sessionCredentials'>
}

const nobody: Caller = Object.freeze({ identity: undefined, session: undefined, signature: undefined })
const presigned = /[?&](X-Amz-(Signature|Algorithm|Credential)|Signature|AWSAccessKeyId)=/i

/** Throws `unauthenticated`, `invalid_credentials`, `request_time_skewed` or `too_many_requests`. */
export async function authenticate(
  operation: AdminOperation,
  exchange: Exchange,
  { iam }: AuthenticationServices,
): Promise<Caller> {
  if (operation.authorize === 'public') return nobody
  const { headers, url = '' } = exchange.request
  if (presigned.test(url)) {
    throw adminErrors.unauthenticated('Presigned URLs are for objects: sign the Authorization header.')
  }
  if (operation.authorize === 'session' && headers.authorization) {
    throw adminErrors.unauthenticated('A signed request has no session.')
  }
  const caller = await callerOf(exchange, iam)
  if (operation.authorize === 'session' && caller.session === undefined) throw adminErrors.unauthenticated()
  return caller
}

/**
 * For work that outlives its request: the result identifies the caller again later. Undefined, or a rejection, if the credentials were
 * deleted, disabled, have expired or got another secret.
 */
export async function createRenewal(
  exchange: Exchange,
  caller: Caller,
  { iam }: AuthenticationServices,
): Promise<() => Promise<Caller | undefined>> {
  const { identity, session, signature } = caller
  if (identity === undefined) return async () => caller
  // Only a signature is for one moment: other credentials can be verified again.
  if (signature?.signatureVersion === undefined) return () => callerOf(exchange, iam)
  const token = exchange.request.headers['x-amz-security-token']
  const find = async () => {
    if (typeof token !== 'string') return iam.credentials(identity.accessKey)
    const found = await iam.sessionCredentials(identity.accessKey, token)
    return typeof found === 'string' ? undefined : found
  }
  const first = await find()
  return async () => {
    const found = await find()
    if (first === undefined || found === undefined || !found.signingSecret.equals(first.signingSecret)) return undefined
    return { identity: found.identity, session, signature }
  }
}

/**
 * The browser sends the cookie with requests of any page; a page of another origin has neither the token nor the right origin. A page whose
 * browser has got another session meanwhile must not go on as somebody else, not even reading: where it sends a token, it has to be that of
 * the session. Throws `invalid_csrf_token`.
 */
export function requireOwnPage(
  operation: AdminOperation,
  exchange: Exchange,
  { session }: Caller,
  { authSession: { originOf } }: AuthenticationServices,
): void {
  if (session === undefined) return
  const wanted = operation.crossSite ?? (operation.method === 'GET' ? 'none' : 'token')
  const token = exchange.request.headers['x-csrf-token']
  const hasToken = session.hasCsrfToken(typeof token === 'string' ? token : undefined)
  if (wanted === 'none') {
    if (token !== undefined && !hasToken) throw adminErrors.invalid_csrf_token(otherSession)
    return
  }
  if (originOf(exchange) !== 'console') throw adminErrors.invalid_csrf_token()
  if (token === undefined ? wanted !== 'origin' : !hasToken) {
    throw adminErrors.invalid_csrf_token(token === undefined ? undefined : otherSession)
  }
}

const otherSession =
  'The X-CSRF-Token header is that of another session: somebody has signed in again in this browser. Load the page again.'

async function callerOf(exchange: Exchange, iam: AuthenticationServices['iam']): Promise<Caller> {
  const { method = '', url = '', headers, rawHeaders } = exchange.request
  const { host, secure, clientAddress } = exchange
  const mark = url.indexOf('?')
  const rawPath = mark < 0 ? url : url.slice(0, mark)
  const rawQuery = mark < 0 ? '' : url.slice(mark + 1)
  let found: Authentication
  try {
    found = await iam.authenticate(
      { api: 'admin', method, rawPath, rawQuery, headers, rawHeaders, host, secure },
      clientAddress,
    )
  } catch (error) {
    throw signatureProblem(error)
  }
  const { identity, session } = found
  if (session !== undefined) return { identity, session, signature: undefined }
  if (identity === undefined || found.method !== 'header') throw adminErrors.unauthenticated()
  if (identity.kind === 'share') throw adminErrors.invalid_credentials()
  return { identity, session, signature: found }
}

/** S3's error codes reveal whether the access key exists; here they must not. */
function signatureProblem(error: unknown): unknown {
  if (!isCatalogError(error)) return error
  switch (error.code) {
    case 'InvalidAccessKeyId':
    case 'SignatureDoesNotMatch':
      return adminErrors.invalid_credentials(undefined, { cause: error })
    case 'RequestTimeTooSkewed':
      return adminErrors.request_time_skewed(undefined, { cause: error })
    case 'AccessDenied':
    case 'InvalidToken':
      return adminErrors.invalid_credentials(error.message, { cause: error })
    case 'SlowDown':
      return adminErrors.too_many_requests(error.message, { cause: error, extra: error.extra, tags: error.tags })
    case 'ambiguous_session':
      return error
    default:
      return error.status < 500 ? adminErrors.unauthenticated(error.message, { cause: error }) : error
  }
}
