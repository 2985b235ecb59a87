import type { IncomingHttpHeaders } from 'node:http'
import type { Authentication, Identity, PayloadDecoder, PayloadForm } from 'svc/plugins/iam/api'
import { algorithmName } from './canonical.ts'
import { ChunkedDecoder, type ChunkSigning, parseTrailerNames } from './chunked-decoder.ts'
import { authErrors } from './errors.ts'
import { Sha256Decoder } from './sha256-decoder.ts'

/** The form of the body of a verified or anonymous request. A class, because one is created per request. */
export class RequestAuthentication implements Authentication {
  readonly identity: Identity | undefined
  readonly method: Authentication['method']
  readonly signatureVersion: Authentication['signatureVersion']
  readonly payload: PayloadForm
  readonly signedMs: number | undefined
  readonly #headers: IncomingHttpHeaders | undefined
  readonly #signing: ChunkSigning | undefined

  constructor(
    identity: Identity | undefined,
    method: Authentication['method'],
    payload: PayloadForm,
    headers?: IncomingHttpHeaders,
    signing?: ChunkSigning,
    signedMs?: number,
  ) {
    this.identity = identity
    this.method = method
    this.signatureVersion = identity === undefined ? undefined : algorithmName
    this.payload = payload
    this.signedMs = signedMs
    this.#headers = headers
    this.#signing = signing
  }

  createDecoder(): PayloadDecoder | undefined {
    const { payload } = this
    if (payload.kind === 'unsigned') return undefined
    const headers = this.#headers ?? {}
    if (payload.kind === 'sha256') {
      const announced = headers['content-length']
      return new Sha256Decoder(payload.hex, announced === undefined ? -1 : Number(announced))
    }
    if (payload.signed && this.#signing === undefined) {
      throw authErrors.InvalidRequest('A body with signed chunks needs a signed request.')
    }
    const announced = headers['x-amz-trailer']
    return new ChunkedDecoder({
      signing: payload.signed ? this.#signing : undefined,
      trailers: payload.trailer ? parseTrailerNames(typeof announced === 'string' ? announced : undefined) : undefined,
    })
  }
}
