/**
 * Verifies the head of a request. The checks are in the order in which a client can correct the problems: form, scope, time, access key,
 * signed headers, signature.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { Clock, MaybePromise } from 'svc/kernel'
import type {
  Authentication,
  AuthProvider,
  Identity,
  PayloadForm,
  SignatureGuard,
  SignedRequest,
} from 'svc/plugins/iam/api'
import type { AuthSigv4Service } from './api.ts'
import { RequestAuthentication } from './authentication.ts'
import { parseQuery, type QueryParameter, unsignedPayload } from './canonical.ts'
import type { ChunkSigning } from './chunked-decoder.ts'
import { type CredentialSource, type FoundCredentials, findCredentials, requireCredentials } from './credentials.ts'
import { parseAmzDate } from './date.ts'
import { authenticateDocument } from './document.ts'
import { authErrors } from './errors.ts'
import { authenticateForm } from './form.ts'
import type { Head } from './head.ts'
import { parsePayloadForm, streamingUnsignedTrailer, unsignedForm } from './payload.ts'
import { dateMismatch, isOfVersion4, type PresentedCredential, parseAuthorization } from './presented-credential.ts'
import { isSignatureParameter, malformedCredential, readPresentedCredential, readPresigned } from './presigned.ts'
import { readTime, requireSigned } from './signed-headers.ts'
import { presignUrl } from './signer.ts'
import { checkExpiry, checkSkew } from './time.ts'
import { createVerifier, type KnownCredential, type Verifier } from './verifier.ts'

export interface AuthSigv4Options {
  readonly iam: CredentialSource
  readonly clock: Clock
  readonly region: string
}

/** The dependencies of a verification. */
interface Parties {
  readonly iam: CredentialSource
  readonly verifier: Verifier
  readonly region: string
}

const noParameters: readonly QueryParameter[] = []
const anonymous: Authentication = Object.freeze(new RequestAuthentication(undefined, 'anonymous', unsignedForm))
const signatureChars = 64

export interface AuthSigv4 {
  readonly service: AuthSigv4Service
  readonly provider: AuthProvider
}

export function createAuthSigv4({ iam, clock, region }: AuthSigv4Options): AuthSigv4 {
  const verifier = createVerifier()
  const parties: Parties = { iam, verifier, region }
  return {
    service: Object.freeze({
      region,
      presign: ({ method, url, expiresSeconds, nowMs, accessKey }, credentials) =>
        presignUrl({ accessKey, secret: credentials.signingSecret, region }, { method, url, expiresSeconds, nowMs }),
    } satisfies AuthSigv4Service),
    provider: {
      before: ['session', 'sigv2'],
      authenticate(request, guard) {
        const { authorization } = request.headers
        if (authorization !== undefined && authorization !== '') {
          if (!isOfVersion4(authorization)) return undefined
          const parameters = request.rawQuery === '' ? noParameters : parseQuery(request.rawQuery)
          return authenticateHeader(parties, clock.now(), request, authorization, parameters, guard)
        }
        if (request.rawQuery === '') return undefined
        const parameters = parseQuery(request.rawQuery)
        if (!parameters.some(isSignatureParameter)) return undefined
        return authenticatePresigned(parties, clock.now(), request, parameters, guard)
      },
      authenticateForm: (fields, guard) => authenticateForm(parties, fields, guard),
      authenticateDocument: (request, signed, guard) =>
        authenticateDocument(parties, clock.now(), request, signed, guard),
    },
  }
}

/** For a request without a signature: reads only the form of its body. */
export function readAnonymous(headers: IncomingHttpHeaders): Authentication {
  const text = headers['x-amz-content-sha256']
  if (typeof text !== 'string') return anonymous
  return new RequestAuthentication(undefined, 'anonymous', parsePayloadForm(text), headers)
}

function authenticateHeader(
  parties: Parties,
  nowMs: number,
  request: SignedRequest,
  authorization: string,
  parameters: readonly QueryParameter[],
  guard: SignatureGuard | undefined,
): MaybePromise<Authentication> {
  const { headers } = request
  // A client sends the same text with each request, except for the signature.
  const cut = authorization.length - signatureChars
  const text = authorization.slice(0, Math.max(cut, 0))
  const remembered = parties.verifier.recall(text)
  let presented: PresentedCredential
  let signature: string
  if (remembered !== undefined) {
    presented = remembered.presented
    signature = authorization.slice(cut)
  } else ({ presented, signature } = parseAuthorization(authorization, parties.region))

  const { timestamp, signedMs } = readTime(headers)
  if (!timestamp.startsWith(presented.credential.date)) throw dateMismatch(presented.credential, timestamp)
  const payloadText = headers['x-amz-content-sha256']
  if (typeof payloadText !== 'string' || payloadText === '') {
    throw authErrors.InvalidRequest('Missing required header for this request: x-amz-content-sha256')
  }
  const payload = parsePayloadForm(payloadText)
  checkSkew(signedMs, nowMs)
  const found = findCredentials(parties.iam, presented.credential.accessKey, headers['x-amz-security-token'], guard)
  return verifyWhenFound(parties.verifier, found, {
    request,
    presented,
    parameters,
    signatureParameter: undefined,
    payloads: [payloadText],
    method: 'header',
    text,
    remembered,
    timestamp,
    signedMs,
    signature,
    payload,
  })
}

/** A well-formed request, before its credentials are looked up. */
interface Attempt extends Head {
  readonly method: 'header' | 'presigned'
  /** The part that a client repeats with each request: the key of the cache of verified credentials. */
  readonly text: string
  readonly remembered: KnownCredential | undefined
  readonly timestamp: string
  readonly signedMs: number
  readonly signature: string
  readonly payload: PayloadForm
}

function verifyWhenFound(
  verifier: Verifier,
  found: MaybePromise<FoundCredentials>,
  attempt: Attempt,
): MaybePromise<Authentication> {
  if (!(found instanceof Promise)) return verifyAttempt(verifier, attempt, found)
  // Bound instead of a closure, which would have to be created for every request, even if nothing has to be waited for.
  return found.then(verifyAttempt.bind(undefined, verifier, attempt))
}

/** A share link is signed for GET, but its holder may also send HEAD, as link previews and download tools do. */
function asLinked(attempt: Attempt, { kind }: Identity): Head {
  const { request } = attempt
  return kind === 'share' && request.method === 'HEAD'
    ? { ...attempt, request: { ...request, method: 'GET' } }
    : attempt
}

/** The checks that need the credentials, which come last because they may have to be waited for. */
function verifyAttempt(verifier: Verifier, attempt: Attempt, found: FoundCredentials): Authentication {
  const { presented, request, method, text, remembered, timestamp, payload } = attempt
  const credentials = requireCredentials(found, presented.credential.accessKey, method)
  const known = verifier.know(text, remembered, presented, credentials)
  requireSigned(request.headers, presented)
  verifier.verify(known, asLinked(attempt, credentials.identity), timestamp, attempt.signature)
  if (known !== remembered && (method === 'presigned' || text.endsWith('Signature='))) verifier.remember(text, known)
  const signing = chunkSigning(known, payload, timestamp, attempt.signature)
  return new RequestAuthentication(credentials.identity, method, payload, request.headers, signing, attempt.signedMs)
}

function authenticatePresigned(
  parties: Parties,
  nowMs: number,
  request: SignedRequest,
  parameters: readonly QueryParameter[],
  guard: SignatureGuard | undefined,
): MaybePromise<Authentication> {
  const { headers } = request
  const given = readPresigned(parameters)
  const remembered = parties.verifier.recall(given.credentialText)
  const presented = remembered?.presented ?? readPresentedCredential(given, parties.region)
  const signedMs = parseAmzDate(given.timestamp)
  if (Number.isNaN(signedMs)) {
    throw authErrors.AuthorizationQueryParametersError(
      `X-Amz-Date must be in the ISO8601 Long Format "yyyyMMdd'T'HHmmss'Z'"`,
    )
  }
  if (!given.timestamp.startsWith(presented.credential.date)) {
    throw dateMismatch(presented.credential, given.timestamp, malformedCredential)
  }
  checkExpiry(signedMs, given.expiresSeconds, nowMs)
  const { payloads, form } = presignedPayload(given.contentSha256, headers['x-amz-content-sha256'])
  const payload = parsePayloadForm(form)
  const token = presignedToken(given.token, headers['x-amz-security-token'])
  const found = findCredentials(parties.iam, presented.credential.accessKey, token, guard)
  return verifyWhenFound(parties.verifier, found, {
    request,
    presented,
    parameters,
    signatureParameter: given.signature,
    payloads,
    method: 'presigned',
    text: given.credentialText,
    remembered,
    timestamp: given.timestamp,
    signedMs,
    signature: given.signature.pair.slice(given.signature.valueStart),
    payload,
  })
}

/** From the query or a signed header; if both have one, they must be equal. */
function presignedToken(
  inQuery: string | undefined,
  header: string | string[] | undefined,
): string | string[] | undefined {
  if (inQuery === undefined || inQuery === '') return header
  if (header !== undefined && header !== inQuery) throw authErrors.InvalidToken()
  return inQuery
}

/** The texts that may stand for the payload in the signature, and the form of the body. */
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
  // With a URL for any payload a client may restrict it: by its digest, or by a trailer.
  if (inQuery === unsignedPayload && (inHeader === streamingUnsignedTrailer || !inHeader.startsWith('STREAMING-'))) {
    return { payloads: [unsignedPayload], form: inHeader }
  }
  throw authErrors.InvalidArgument('The x-amz-content-sha256 header differs from the X-Amz-Content-Sha256 parameter.')
}

function chunkSigning(
  known: KnownCredential,
  payload: PayloadForm,
  timestamp: string,
  seed: string,
): ChunkSigning | undefined {
  if (payload.kind !== 'chunked' || !payload.signed) return undefined
  return { key: known.key, timestamp, scope: known.presented.credential.scope, seed }
}
