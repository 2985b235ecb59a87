/**
 * Signature Version 4: who signed the request, and what that signature says about its body. Covers the `Authorization`
 * header, presigned query, and the forms of `x-amz-content-sha256`: hex digest, UNSIGNED-PAYLOAD,
 * STREAMING-AWS4-HMAC-SHA256-PAYLOAD, …-PAYLOAD-TRAILER and STREAMING-UNSIGNED-PAYLOAD-TRAILER.
 * Source: AWS "Signature Version 4 signing process" and "Transferring payload in multiple chunks".
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { MaybePromise } from 'svc/kernel'
import type { Credentials, Identity } from 'svc/plugins/iam/api'

/** What the signature is computed over, as it came over the wire. */
export interface SignedRequest {
  readonly method: string
  /** Raw path of the request target, before `?`, still percent-encoded. */
  readonly rawPath: string
  /** Raw query without `?`, still percent-encoded; empty when absent. */
  readonly rawQuery: string
  readonly headers: IncomingHttpHeaders
  /**
   * `request.rawHeaders`. Needed only to verify signatures over headers that came more than once: Node joins those with
   * `, ` and Signature Version 4 with `,`.
   */
  readonly rawHeaders?: readonly string[]
  /** As in `Exchange.host`: replaces the `host` header in the canonical request when a trusted proxy forwarded it. */
  readonly host: string
}

/** How the body is wrapped and verified. */
export type PayloadForm =
  | { readonly kind: 'unsigned' }
  /** The whole body has this SHA-256, lower-case hexadecimal. */
  | { readonly kind: 'sha256'; readonly hex: string }
  /** aws-chunked; signed per chunk and/or with a trailer. */
  | { readonly kind: 'chunked'; readonly signed: boolean; readonly trailer: boolean }

export interface Authentication {
  /** Undefined: anonymous. */
  readonly identity: Identity | undefined
  readonly method: 'anonymous' | 'header' | 'presigned' | 'form'
  readonly payload: PayloadForm
  /** When it was signed, milliseconds since 1970; undefined where nothing says so. */
  readonly signedMs: number | undefined
  /** Makes the decoder for this request's body; undefined where the body is to be taken as it comes. */
  createDecoder(): PayloadDecoder | undefined
}

/** Turns wire bytes into payload bytes. Synchronous; holds at most one chunk header or trailer (bounded), never a chunk. */
export interface PayloadDecoder {
  /** Feeds wire bytes; `emit` gets slices of them, in order. Throws catalogue errors on bad framing or signature. */
  push(bytes: Buffer, emit: (payload: Buffer) => void): void
  /** At the end of the wire bytes: throws unless the payload is complete. Returns the trailers, lower-case names. */
  end(): ReadonlyMap<string, string>
}

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
