/**
 * From the head of a request to who signed it. The order of the checks is the order in which a client can do something
 * about them: form, scope, time, access key, what is signed, signature.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { CatalogError, Clock } from 'svc/kernel'
import type { IamService } from 'svc/plugins/iam/api'
import type { Authentication, AuthSigv4Service, PayloadForm, SignedRequest } from './api.ts'
import { RequestAuthentication } from './authentication.ts'
import { parseQuery, type QueryParameter, unsignedPayload } from './canonical.ts'
import type { ChunkSigning } from './chunked-decoder.ts'
import { type Claim, dateMismatch, echo, parseAuthorization } from './claim.ts'
import { formatAmzDate, parseAmzDate } from './date.ts'
import { authErrors } from './errors.ts'
import { authenticateForm } from './form.ts'
import type { Head } from './head.ts'
import { parsePayloadForm, streamingUnsignedTrailer, unsignedForm } from './payload.ts'
import { isSignatureParameter, malformedCredential, readClaim, readPresigned } from './presigned.ts'
import { presignUrl } from './signer.ts'
import { checkExpiry, checkSkew } from './time.ts'
import { createVerifier, type KnownClaim, type Verifier } from './verifier.ts'

export interface AuthSigv4Options {
  readonly iam: Pick<IamService, 'credentials'>
  readonly clock: Clock
  readonly region: string
}

const noParameters: readonly QueryParameter[] = []
const anonymous: Authentication = Object.freeze(new RequestAuthentication(undefined, 'anonymous', unsignedForm))
const signatureChars = 64

export function createAuthSigv4({ iam, clock, region }: AuthSigv4Options): AuthSigv4Service {
  const verifier = createVerifier(iam)
  return Object.freeze({
    region,
    authenticate(request) {
      const authorization = request.headers.authorization
      const parameters = request.rawQuery === '' ? noParameters : parseQuery(request.rawQuery)
      const presigned = parameters.length > 0 && parameters.some(isSignatureParameter)
      if (authorization !== undefined && authorization !== '') {
        if (presigned) throw onlyOneMechanism()
        return authenticateHeader(verifier, region, clock.now(), request, authorization, parameters)
      }
      if (presigned) return authenticatePresigned(verifier, region, clock.now(), request, parameters)
      return authenticateAnonymous(request, parameters)
    },
    authenticateForm: fields => authenticateForm(verifier, region, fields),
    presign: ({ method, url, expiresSeconds, nowMs, accessKey }, credentials) =>
      presignUrl({ accessKey, secret: credentials.signingSecret, region }, { method, url, expiresSeconds, nowMs }),
  } satisfies AuthSigv4Service)
}

function authenticateAnonymous(request: SignedRequest, parameters: readonly QueryParameter[]): Authentication {
  if (parameters.some(({ name }) => name === 'AWSAccessKeyId')) throw authErrors.InvalidRequest()
  const text = request.headers['x-amz-content-sha256']
  if (typeof text !== 'string') return anonymous
  return new RequestAuthentication(undefined, 'anonymous', parsePayloadForm(text), request.headers)
}

function authenticateHeader(
  verifier: Verifier,
  region: string,
  nowMs: number,
  request: SignedRequest,
  authorization: string,
  parameters: readonly QueryParameter[],
): Authentication {
  const { headers } = request
  // Everything but the signature is the same from request to request of one client.
  const cut = authorization.length - signatureChars
  const text = authorization.slice(0, Math.max(cut, 0))
  let known = verifier.recall(text)
  const remembered = known !== undefined
  let claim: Claim
  let signature: string
  if (known !== undefined) {
    claim = known.claim
    signature = authorization.slice(cut)
  } else ({ claim, signature } = parseAuthorization(authorization, region))
  refuseToken(headers['x-amz-security-token'])

  const { timestamp, signedMs } = readTime(headers)
  if (!timestamp.startsWith(claim.credential.date)) throw dateMismatch(claim.credential, timestamp)
  const payloadText = headers['x-amz-content-sha256']
  if (typeof payloadText !== 'string' || payloadText === '') {
    throw authErrors.InvalidRequest('Missing required header for this request: x-amz-content-sha256')
  }
  const payload = parsePayloadForm(payloadText)
  checkSkew(signedMs, nowMs)
  known ??= { claim, ...verifier.resolve(claim.credential) }
  requireSigned(headers, claim)
  const head: Head = { request, claim, parameters, signatureParameter: undefined, payloads: [payloadText] }
  verifier.verify(known, head, timestamp, signature)
  if (!remembered && text.endsWith('Signature=')) verifier.remember(text, known)
  const signing = chunkSigning(known, payload, timestamp, signature)
  return new RequestAuthentication(known.credentials.identity, 'header', payload, headers, signing)
}

function authenticatePresigned(
  verifier: Verifier,
  region: string,
  nowMs: number,
  request: SignedRequest,
  parameters: readonly QueryParameter[],
): Authentication {
  const { headers } = request
  const given = readPresigned(parameters)
  let known = verifier.recall(given.claimText)
  const remembered = known !== undefined
  const claim = known?.claim ?? readClaim(given, region)
  refuseToken(headers['x-amz-security-token'])
  const signedMs = parseAmzDate(given.timestamp)
  if (Number.isNaN(signedMs)) {
    throw authErrors.AuthorizationQueryParametersError(
      `X-Amz-Date must be in the ISO8601 Long Format "yyyyMMdd'T'HHmmss'Z'"`,
    )
  }
  if (!given.timestamp.startsWith(claim.credential.date)) {
    throw dateMismatch(claim.credential, given.timestamp, malformedCredential)
  }
  checkExpiry(signedMs, given.expiresSeconds, nowMs)
  const { payloads, form } = presignedPayload(given.contentSha256, headers['x-amz-content-sha256'])
  const payload = parsePayloadForm(form)
  known ??= { claim, ...verifier.resolve(claim.credential) }
  requireSigned(headers, claim)
  const head: Head = { request, claim, parameters, signatureParameter: given.signature, payloads }
  const signature = given.signature.pair.slice(given.signature.valueStart)
  verifier.verify(known, head, given.timestamp, signature)
  if (!remembered) verifier.remember(given.claimText, known)
  const signing = chunkSigning(known, payload, given.timestamp, signature)
  return new RequestAuthentication(known.credentials.identity, 'presigned', payload, headers, signing)
}

/** What may stand for the payload in the signature, and the form of the body. */
function presignedPayload(
  inQuery: string | undefined,
  header: string | string[] | undefined,
): { readonly payloads: Head['payloads']; readonly form: string } {
  const inHeader = typeof header === 'string' && header !== '' ? header : undefined
  if (inHeader === undefined || inHeader === inQuery) {
    const form = inQuery ?? unsignedPayload
    return { payloads: [form], form }
  }
  if (inQuery === undefined) return { payloads: [unsignedPayload, inHeader], form: inHeader }
  // Whoever got a URL for any payload may say more about the one that is sent: its digest, or that it has a trailer.
  if (inQuery === unsignedPayload && (inHeader === streamingUnsignedTrailer || !inHeader.startsWith('STREAMING-'))) {
    return { payloads: [unsignedPayload], form: inHeader }
  }
  throw authErrors.InvalidArgument('The x-amz-content-sha256 header differs from the X-Amz-Content-Sha256 parameter.')
}

/** Covered by the signature without being among the signed headers, or, for the last, without meaning to S3. */
const neednotBeSigned = new Set(['x-amz-content-sha256', 'x-amz-date', 'x-amz-cf-id'])

/** An `x-amz-` header that is not signed could have been put in on the way, so the request is refused. */
function requireSigned(headers: IncomingHttpHeaders, claim: Claim): void {
  let difference = 0
  for (const name of claim.amzNames) if (headers[name] !== undefined) difference++
  for (const name in headers) if (name.startsWith('x-amz-')) difference--
  if (difference === 0 && claim.hostSigned) return
  const unsigned = Object.keys(headers).filter(
    name => name.startsWith('x-amz-') && !claim.amzNames.includes(name) && !neednotBeSigned.has(name),
  )
  if (!claim.hostSigned) unsigned.unshift('host')
  if (unsigned.length === 0) return
  throw authErrors.AccessDenied('There were headers present in the request which were not signed', {
    extra: { HeadersNotSigned: echo(unsigned.join(', ')) },
  })
}

/** The time of signing in ISO basic format, from `x-amz-date` or else `Date`, and in milliseconds since 1970. */
function readTime(headers: IncomingHttpHeaders): { readonly timestamp: string; readonly signedMs: number } {
  const text = headers['x-amz-date'] ?? headers.date
  if (typeof text === 'string') {
    let signedMs = parseAmzDate(text)
    if (!Number.isNaN(signedMs)) return { timestamp: text, signedMs }
    signedMs = text === headers.date ? Date.parse(text) : Number.NaN
    if (!Number.isNaN(signedMs)) return { timestamp: formatAmzDate(signedMs), signedMs }
  }
  throw authErrors.AccessDenied('AWS authentication requires a valid Date or x-amz-date header')
}

/** There are no temporary credentials yet, so no token can be right. */
function refuseToken(token: string | string[] | undefined): void {
  if (token !== undefined && token !== '') throw authErrors.InvalidToken()
}

function chunkSigning(
  known: KnownClaim,
  payload: PayloadForm,
  timestamp: string,
  seed: string,
): ChunkSigning | undefined {
  if (payload.kind !== 'chunked' || !payload.signed) return undefined
  return { key: known.key, timestamp, scope: known.claim.credential.scope, seed }
}

function onlyOneMechanism(): CatalogError {
  return authErrors.InvalidArgument(
    'Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified',
    { extra: { ArgumentName: 'Authorization' } },
  )
}
