/**
 * Who sent a request, and what its credentials say about its body. The types stand here, below the plugins that verify credentials and
 * those that serve requests.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Identity } from './api.ts'

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
