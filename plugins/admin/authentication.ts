/** Who sends a request: a signature in the Authorization header, or the cookie of a console session. */
import { isCatalogError } from 'svc/kernel'
import type { AuthSigv4Service } from 'svc/plugins/auth-sigv4/api'
import type { Exchange } from 'svc/plugins/http/api'
import type { ActiveSession, Authentication, AuthSessionService, IamService, Identity } from 'svc/plugins/iam/api'
import type { AdminOperation } from './api.ts'
import { adminErrors } from './errors.ts'

export interface Caller {
  readonly identity: Identity | undefined
  readonly session: ActiveSession | undefined
  /** What a signature says about the body. */
  readonly signature: Authentication | undefined
}

export interface AuthenticationServices {
  readonly authSigv4: Pick<AuthSigv4Service, 'authenticate'>
  readonly authSession: Pick<AuthSessionService, 'find' | 'originOf'>
  readonly iam: Pick<IamService, 'credentials' | 'sessionCredentials'>
}

const nobody: Caller = Object.freeze({ identity: undefined, session: undefined, signature: undefined })
const presigned = /[?&](X-Amz-(Signature|Algorithm|Credential)|Signature|AWSAccessKeyId)=/i

/** Throws `unauthenticated`, `invalid_credentials` or `request_time_skewed`. */
export async function authenticate(
  operation: AdminOperation,
  exchange: Exchange,
  services: AuthenticationServices,
): Promise<Caller> {
  if (operation.authorize === 'public') return nobody
  const { headers, url = '' } = exchange.request
  if (presigned.test(url)) {
    throw adminErrors.unauthenticated('Presigned URLs are for objects: sign the Authorization header.')
  }
  if (headers.authorization !== undefined && headers.authorization !== '') {
    if (operation.authorize === 'session') throw adminErrors.unauthenticated('A signed request has no session.')
    return authenticateSignature(exchange, services.authSigv4)
  }
  const session = services.authSession.find(exchange)
  if (session === undefined) throw adminErrors.unauthenticated()
  return { identity: session.identity, session, signature: undefined }
}

/**
 * For what outlives its request: asks later who the caller is by then. Undefined when its credentials are gone, disabled,
 * expired, or have another secret than at first.
 */
export async function createRenewal(
  exchange: Exchange,
  caller: Caller,
  { authSession, iam }: AuthenticationServices,
): Promise<() => Promise<Caller | undefined>> {
  const { identity, session, signature } = caller
  if (identity === undefined) return async () => caller
  if (session !== undefined) {
    return async () => {
      const found = authSession.find(exchange)
      return found && { identity: found.identity, session: found, signature }
    }
  }
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
 * The cookie comes along whoever wrote the page; what a page of somebody else cannot have is the token and the origin.
 * Throws `invalid_csrf_token`.
 */
export function requireOwnPage(
  operation: AdminOperation,
  exchange: Exchange,
  { session }: Caller,
  { authSession: { originOf } }: AuthenticationServices,
): void {
  if (session === undefined) return
  const wanted = operation.crossSite ?? (operation.method === 'GET' ? 'none' : 'token')
  if (wanted === 'none') return
  if (originOf(exchange) !== 'console') throw adminErrors.invalid_csrf_token()
  if (wanted === 'origin') return
  const token = exchange.request.headers['x-csrf-token']
  if (!session.hasCsrfToken(typeof token === 'string' ? token : undefined)) throw adminErrors.invalid_csrf_token()
}

async function authenticateSignature(
  exchange: Exchange,
  authSigv4: AuthenticationServices['authSigv4'],
): Promise<Caller> {
  const { method = '', url = '', headers, rawHeaders } = exchange.request
  const mark = url.indexOf('?')
  let signature: Authentication
  try {
    signature = await authSigv4.authenticate({
      method,
      rawPath: mark < 0 ? url : url.slice(0, mark),
      rawQuery: mark < 0 ? '' : url.slice(mark + 1),
      headers,
      rawHeaders,
      host: exchange.host,
    })
  } catch (error) {
    throw signatureProblem(error)
  }
  const { identity } = signature
  if (identity === undefined || signature.method !== 'header') throw adminErrors.unauthenticated()
  if (identity.kind === 'share') throw adminErrors.invalid_credentials()
  return { identity, session: undefined, signature }
}

/** S3's codes tell whether the access key exists; here nobody learns that. */
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
    default:
      return error.status < 500 ? adminErrors.unauthenticated(error.message, { cause: error }) : error
  }
}
