/** Requests to services other than S3: the signature covers the digest of the body, even without a header that has the digest. */
import type { MaybePromise } from 'svc/kernel'
import type { Authentication, SignatureGuard, SignedDocument, SignedRequest } from 'svc/plugins/iam/api'
import { RequestAuthentication } from './authentication.ts'
import { parseQuery, sha256Hex } from './canonical.ts'
import { type CredentialSource, type FoundCredentials, findCredentials, requireCredentials } from './credentials.ts'
import { authErrors } from './errors.ts'
import type { Head } from './head.ts'
import { unsignedForm } from './payload.ts'
import { dateMismatch, isOfVersion4, parseAuthorization } from './presented-credential.ts'
import { readTime, requireSigned } from './signed-headers.ts'
import { checkSkew } from './time.ts'
import type { Verifier } from './verifier.ts'

export function authenticateDocument(
  { iam, verifier, region }: { readonly iam: CredentialSource; readonly verifier: Verifier; readonly region: string },
  nowMs: number,
  request: SignedRequest,
  { service, document }: SignedDocument,
  guard: SignatureGuard | undefined,
): MaybePromise<Authentication> | undefined {
  const { headers, rawQuery } = request
  const { authorization } = headers
  if (authorization === undefined || !isOfVersion4(authorization)) return undefined
  const { presented, signature } = parseAuthorization(authorization, region, service)
  const { timestamp, signedMs } = readTime(headers)
  if (!timestamp.startsWith(presented.credential.date)) throw dateMismatch(presented.credential, timestamp)
  checkSkew(signedMs, nowMs)
  const digest = sha256Hex(document)
  const announced = headers['x-amz-content-sha256']
  if (announced !== undefined && announced !== digest) throw authErrors.XAmzContentSHA256Mismatch()
  const head: Head = {
    request,
    presented,
    parameters: parseQuery(rawQuery),
    signatureParameter: undefined,
    payloads: [digest],
  }
  const { accessKey } = presented.credential
  const verify = (found: FoundCredentials): Authentication => {
    const credentials = requireCredentials(found, accessKey, 'header')
    const known = verifier.know('', undefined, presented, credentials)
    requireSigned(headers, presented)
    verifier.verify(known, head, timestamp, signature)
    return new RequestAuthentication(credentials.identity, 'header', unsignedForm, headers, undefined, signedMs)
  }
  const found = findCredentials(iam, accessKey, headers['x-amz-security-token'], guard)
  return found instanceof Promise ? found.then(verify) : verify(found)
}
