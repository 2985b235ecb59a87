/**
 * Who sent a request, and what its credentials say about its body. The types stand here, below the plugins that verify credentials and
 * those that serve requests.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { MaybePromise } from 'svc/kernel'
import type { Identity } from './api.ts'
import type { ActiveSession } from './sessions.ts'

/** What bears credentials, and what a signature is computed over, as it came over the wire. */
export interface SignedRequest {
  /** What is asked: credentials may be good for one of them alone. */
  readonly api: 's3' | 'admin'
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
  /** The bucket that the host names; empty, or absent, where the path begins with it. */
  readonly hostBucket?: string
  /** True when the client spoke TLS to us or to a trusted proxy. */
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

/** Whose credentials a request bears. */
export interface Principal {
  readonly identity: Identity
  readonly method: 'header' | 'presigned' | 'form' | 'session'
  /** Absent where the credentials are no signature. */
  readonly signatureVersion?: SignatureVersion | undefined
  /** When it was signed, milliseconds since 1970; undefined where nothing says so. */
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
  /** Makes the decoder for this request's body; undefined where the body is to be taken as it comes. */
  createDecoder(): PayloadDecoder | undefined
}

/** A principal alone where the credentials say nothing about the body: then `x-amz-content-sha256` does. */
export type AuthAnswer = Authentication | Principal

/**
 * Turns credentials of one kind into a principal. Undefined, at once: the request bears none of this kind, and the next provider is
 * asked. Whoever recognizes credentials decides: whatever it throws or rejects with refuses the request. Catalogue errors (S3 codes) are
 * answered; anything else is a defect, and is answered as an internal error. A promise only where something has to be waited for. No
 * secret may be in an error.
 */
export interface AuthProvider {
  /** Ids of providers that are asked after this one. Where nobody says so, the order in which plugins are set up counts. */
  readonly before?: readonly string[]
  authenticate(request: SignedRequest): MaybePromise<AuthAnswer> | undefined
  /** A POST policy form: fields by lower-case name. What the policy says (expiry, conditions) is for the caller to check. */
  authenticateForm?(fields: ReadonlyMap<string, string>): MaybePromise<AuthAnswer> | undefined
  /** A request to another service (`sts`), which is signed over the whole document that is its body. */
  authenticateDocument?(request: SignedRequest, signed: SignedDocument): MaybePromise<AuthAnswer> | undefined
}

export interface SignedDocument {
  readonly service: string
  readonly document: Uint8Array
}

/**
 * The providers, one after the other, and anonymous at the end. Unknown schemes and two mechanisms at once are refused. A promise only
 * where a provider has to wait: for signatures in worker threads after a change, never in the main thread.
 */
export interface AuthChain {
  authenticate(request: SignedRequest): MaybePromise<Authentication>
  authenticateForm(fields: ReadonlyMap<string, string>): MaybePromise<Authentication>
  authenticateDocument(request: SignedRequest, signed: SignedDocument): MaybePromise<Authentication>
}

/** Turns wire bytes into payload bytes. Synchronous; holds at most one chunk header or trailer (bounded), never a chunk. */
export interface PayloadDecoder {
  /** Feeds wire bytes; `emit` gets slices of them, in order. Throws catalogue errors on bad framing or signature. */
  push(bytes: Buffer, emit: (payload: Buffer) => void): void
  /** At the end of the wire bytes: throws unless the payload is complete. Returns the trailers, lower-case names. */
  end(): ReadonlyMap<string, string>
}
