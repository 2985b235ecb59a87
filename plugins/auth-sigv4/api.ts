/**
 * Signature Version 4: verifies the signature of a request, and reads the form of its body. Covers the `Authorization` header, presigned
 * query, and the forms of `x-amz-content-sha256`: hex digest, UNSIGNED-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD, …-PAYLOAD-TRAILER and
 * STREAMING-UNSIGNED-PAYLOAD-TRAILER. Requests are verified through the chain of `iam`, with the provider `sigv4`; this module exports the
 * functions that sign. Source: AWS "Signature Version 4 signing process" and "Transferring payload in multiple chunks".
 */
import type { Credentials } from 'svc/plugins/iam/api'

export interface AuthSigv4Service {
  /** `SVC_REGION`: the region that signatures must be for. */
  readonly region: string
  /** Signs presigned URLs that the server itself creates. RangeError unless 1 to 604800 seconds. */
  presign(request: PresignRequest, credentials: Credentials): string
}

export { trimBlanks } from './canonical.ts'
/** For other mechanisms that use the same secrets. */
export { type CredentialSource, type FoundCredentials, findCredentials, requireCredentials } from './credentials.ts'
export { auditTagsOf, authErrors } from './errors.ts'
export { requireField } from './form.ts'
export {
  type ChunkedBody,
  encodeChunks,
  presignUrl,
  type RequestToSign,
  type SignedHead,
  type Signer,
  signPolicy,
  signRequest,
} from './signer.ts'

export { checkSkew, isoSeconds } from './time.ts'
export { redact } from './verifier.ts'

export interface PresignRequest {
  readonly method: string
  /** Absolute URL without signature parameters. */
  readonly url: string
  readonly expiresSeconds: number
  readonly nowMs: number
  readonly accessKey: string
}

declare module 'svc/kernel' {
  interface Services {
    authSigv4: AuthSigv4Service
  }
}
