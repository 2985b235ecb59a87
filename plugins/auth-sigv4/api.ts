/**
 * Signature Version 4: who signed the request, and what that signature says about its body. Covers the `Authorization`
 * header, presigned query, and the forms of `x-amz-content-sha256`: hex digest, UNSIGNED-PAYLOAD,
 * STREAMING-AWS4-HMAC-SHA256-PAYLOAD, …-PAYLOAD-TRAILER and STREAMING-UNSIGNED-PAYLOAD-TRAILER.
 * Source: AWS "Signature Version 4 signing process" and "Transferring payload in multiple chunks".
 */
import type { MaybePromise } from 'svc/kernel'
import type { Authentication, Credentials, SignedRequest } from 'svc/plugins/iam/api'

export interface AuthSigv4Service {
  /** `SVC_REGION`: the region that signatures must be for. */
  readonly region: string
  /**
   * Verifies a request, or finds that it is anonymous. Throws, or rejects with, catalogue errors (S3 codes) when it is neither. A
   * promise only where credentials have to be waited for: in worker threads after a change, never in the main thread.
   */
  authenticate(request: SignedRequest): MaybePromise<Authentication>
  /**
   * Verifies the signature of a POST policy form: fields by lower-case name. What the policy says (expiry, conditions) is
   * for the caller to check. Throws catalogue errors, as `authenticate`.
   */
  authenticateForm(fields: ReadonlyMap<string, string>): MaybePromise<Authentication>
  /**
   * Verifies a request to another service (`sts`), which is signed over the whole document that is its body; by header alone.
   * Anonymous when there is none. Throws, or rejects with, what `authenticate` does.
   */
  authenticateDocument(
    request: SignedRequest,
    signed: { readonly service: string; readonly document: Uint8Array },
  ): MaybePromise<Authentication>
  /** Signs, for presigned URLs that the server itself hands out. RangeError unless 1 to 604800 seconds. */
  presign(request: PresignRequest, credentials: Credentials): string
}

export { claimedAccessKeyOf } from './errors.ts'
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
