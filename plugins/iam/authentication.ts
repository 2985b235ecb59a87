/**
 * The types of authentication: who sent a request, and how its body is wrapped. They are here so that the plugins that verify credentials
 * and the plugins that serve requests can both import them.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { MaybePromise } from 'svc/kernel'
import type { Identity } from './api.ts'
import type { ActiveSession } from './sessions.ts'

/** The parts of a request that contain credentials or that a signature covers, as received. */
export interface SignedRequest {
  /** The API that is called: some credentials are valid for one of them only. */
  readonly api: 's3' | 'admin'
  readonly method: string
  /** Raw path of the request target, before `?`, still percent-encoded. */
  readonly rawPath: string
  /** Raw query without `?`, still percent-encoded; empty when absent. */
  readonly rawQuery: string
  readonly headers: IncomingHttpHeaders
  /**
   * `request.rawHeaders`. Needed only to verify signatures over repeated headers: Node.js joins their values with `, `, Signature Version 4
   * with `,`.
   */
  readonly rawHeaders?: readonly string[]
  /** As in `Exchange.host`: replaces the `host` header in the canonical request if a trusted proxy forwarded it. */
  readonly host: string
  /** The bucket in the host name; empty or absent if the path begins with the bucket. */
  readonly hostBucket?: string
  /** True if the client used TLS to this server or to a trusted proxy. */
  readonly secure: boolean
}

/** How the body is wrapped and verified. */
export type PayloadForm =
  | { readonly kind: 'unsigned' }
  /** The whole body has this SHA-256, lower-case hexadecimal. */
  | { readonly kind: 'sha256'; readonly hex: string }
  /** aws-chunked; signed per chunk and/or with a trailer. */
  | { readonly kind: 'chunked'; readonly signed: boolean; readonly trailer: boolean }

/** The mechanism of a signature, as the condition key `s3:signatureversion` names it. */
export type SignatureVersion = 'AWS4-HMAC-SHA256' | 'AWS'

/** The identity that a request's credentials belong to. */
export interface Principal {
  readonly identity: Identity
  readonly method: 'header' | 'presigned' | 'form' | 'session'
  /** Absent for credentials without a signature. */
  readonly signatureVersion?: SignatureVersion | undefined
  /** When it was signed, milliseconds since 1970; undefined if the credentials do not have the time. */
  readonly signedMs?: number | undefined
  readonly session?: ActiveSession | undefined
  readonly payload?: undefined
  readonly createDecoder?: undefined
}

export interface Authentication extends Omit<Principal, 'identity' | 'method' | 'payload' | 'createDecoder'> {
  /** Undefined: anonymous. */
  readonly identity: Identity | undefined
  readonly method: Principal['method'] | 'anonymous'
  readonly payload: PayloadForm
  /** Creates the decoder for the body of this request; undefined if the body is not encoded. */
  createDecoder(): PayloadDecoder | undefined
}

/** A principal alone if the credentials do not describe the body: then `x-amz-content-sha256` does. */
export type AuthAnswer = Authentication | Principal

/**
 * Throws `SlowDown` where the client has sent too many wrong signatures, for this access key or for any. A provider calls it before it
 * verifies a signature, so that whoever is refused does not learn whether this one was right, not even from the time.
 */
export type SignatureGuard = (accessKey: string) => void

/** Counts wrong signatures, and refuses whoever sends too many. */
export interface SignatureThrottle {
  /** Undefined while nobody is refused. */
  guard(clientAddress: string): SignatureGuard | undefined
  /** Counts a wrong signature; without an access key if that is unknown. */
  failed(clientAddress: string, accessKey: string | undefined): void
}

/**
 * Verifies credentials of one kind. Undefined, without a promise: the request has no credentials of this kind, and the next provider is
 * asked. A provider that recognizes the credentials decides: if it throws or rejects, the request is refused. Catalogue errors (S3 codes)
 * are sent to the client; any other error is a defect, and is answered as an internal error. Returns a promise only if it has to wait. No
 * error may contain a secret. Of a wrong signature it is `SignatureDoesNotMatch` with `AWSAccessKeyId`, of an unknown access key
 * `InvalidAccessKeyId`: these are counted. Where there is a guard it is called before a signature is verified.
 */
export interface AuthProvider {
  /** Ids of providers that must be asked after this one. Otherwise the order is that in which plugins are set up. */
  readonly before?: readonly string[]
  authenticate(request: SignedRequest, guard?: SignatureGuard): MaybePromise<AuthAnswer> | undefined
  /** A POST policy form: fields by lower-case name. The caller checks the policy (expiry, conditions). */
  authenticateForm?(fields: ReadonlyMap<string, string>, guard?: SignatureGuard): MaybePromise<AuthAnswer> | undefined
  /** A request to another service (`sts`), whose signature covers its body as a whole. */
  authenticateDocument?(
    request: SignedRequest,
    signed: SignedDocument,
    guard?: SignatureGuard,
  ): MaybePromise<AuthAnswer> | undefined
}

export interface SignedDocument {
  readonly service: string
  readonly document: Uint8Array
}

/**
 * Asks the providers one after the other; if none recognizes credentials, the request is anonymous. Unknown schemes and two mechanisms in
 * one request are refused. Returns a promise only if a provider has to wait: for signatures in worker threads after a change, never in the
 * main thread. `clientAddress` is that of `Exchange`: clients that send too many wrong signatures are refused with `SlowDown`.
 */
export interface AuthChain {
  authenticate(request: SignedRequest, clientAddress: string): MaybePromise<Authentication>
  authenticateForm(fields: ReadonlyMap<string, string>, clientAddress: string): MaybePromise<Authentication>
  authenticateDocument(
    request: SignedRequest,
    signed: SignedDocument,
    clientAddress: string,
  ): MaybePromise<Authentication>
}

/** Decodes the body as received to the payload. Synchronous; keeps at most one chunk header or trailer (bounded), never a chunk. */
export interface PayloadDecoder {
  /** Takes received bytes; `emit` gets slices of them, in order. Throws catalogue errors for bad framing or signatures. */
  push(bytes: Buffer, emit: (payload: Buffer) => void): void
  /** At the end of the body: throws unless the payload is complete. Returns the trailers, lower-case names. */
  end(): ReadonlyMap<string, string>
}
