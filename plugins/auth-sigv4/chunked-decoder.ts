/**
 * A state machine that decodes an aws-chunked body from the received bytes. The body may be signed, and may have trailers.
 *
 *     body    = *chunk last (CRLF | trailer)
 *     chunk   = hex-size [";chunk-signature=" 64hex] CRLF bytes CRLF
 *     last    = hex-size of value 0 [";chunk-signature=" 64hex] CRLF
 *     trailer = *(name ":" value EOL) ["x-amz-trailer-signature:" 64hex EOL] EOL
 *     EOL     = CRLF or LF
 *
 * If a line of the trailer ended with LF, empty lines may precede its signature, and one more CRLF may follow the body. Each signed chunk
 * with data, except the last of them, has at least 8192 bytes.
 *
 * | State | Expected bytes | Next |
 * |---|---|---|
 * | `header` | a chunk's header line | `data`; after size 0 `trailer`, or `lastLine` without trailers |
 * | `data` | the rest of the chunk | `dataEnd`, after the signature of a signed chunk was verified |
 * | `dataEnd` | CRLF | `header` |
 * | `lastLine` | CRLF | `end` |
 * | `trailer` | a line | `trailer`; after the final empty line `end` |
 * | `end` | none, or one CRLF after a trailer with LF | |
 * | `failed` | none: each further `push` throws | |
 *
 * Invariants:
 * 1. A signed chunk that arrives in one piece is verified before it is emitted. A chunk that arrives in several pieces is emitted piece
 *    by piece, and verified when its last piece has arrived. The caller must not trust the emitted bytes until `end` has returned.
 * 2. Of the body the decoder keeps only one line (`lineBytesMax`) and the trailers (`trailerBytesMax` in total), beside counters, a
 *    signature and a hash state.
 * 3. `end` returns only if all chunks including the last one and exactly the announced trailers were received, and, in a signed body,
 *    all of them were verified.
 *
 * Source: AWS "Transferring payload in multiple chunks" and "… including trailing headers".
 */
import { createHash, type Hash, hash } from 'node:crypto'
import type { CatalogError } from 'svc/kernel'
import type { PayloadDecoder } from 'svc/plugins/iam/api'
import { emptySha256, trimBlanks } from './canonical.ts'
import { hexDigit } from './encoding.ts'
import { authErrors } from './errors.ts'
import { isSignature, type SigningKey, sign } from './signing-key.ts'

export const lineBytesMax = 4096
export const trailerBytesMax = 16 * 1024
/** Equal to the largest part that S3 accepts. */
export const chunkBytesMax = 5 * 1024 ** 3
/** Only the last signed chunk with data may be smaller. */
export const signedChunkBytesMin = 8192
export const trailerCountMax = 16

export const chunkAlgorithm = 'AWS4-HMAC-SHA256-PAYLOAD'
export const trailerAlgorithm = 'AWS4-HMAC-SHA256-TRAILER'
export const trailerSignatureName = 'x-amz-trailer-signature'

/** The inputs of chunk signatures; each signature is also an input of the next one. */
export interface ChunkSigning {
  readonly key: SigningKey
  /** ISO basic format; the timestamp of the request. */
  readonly timestamp: string
  readonly scope: string
  /** Signature of the head of the request. */
  readonly seed: string
}

export interface ChunkedOptions {
  /** Undefined if the body is not signed. */
  readonly signing: ChunkSigning | undefined
  /** The announced names in lower case. Undefined if this form of body has no trailer. */
  readonly trailers: readonly string[] | undefined
}

/** String to sign of a chunk; `digest` is the SHA-256 of its bytes. */
export function chunkStringToSign(signing: ChunkSigning, previous: string, digest: string): string {
  return `${chunkAlgorithm}\n${signing.timestamp}\n${signing.scope}\n${previous}\n${emptySha256}\n${digest}`
}

/** String to sign of the trailers; `digest` is the SHA-256 of `name:value\n` of each. */
export function trailerStringToSign(signing: ChunkSigning, previous: string, digest: string): string {
  return `${trailerAlgorithm}\n${signing.timestamp}\n${signing.scope}\n${previous}\n${digest}`
}

type State = 'header' | 'data' | 'dataEnd' | 'lastLine' | 'trailer' | 'end' | 'failed'

const lineFeed = 10
const carriageReturn = 13
const signaturePrefix = ';chunk-signature='

export class ChunkedDecoder implements PayloadDecoder {
  readonly #signing: ChunkSigning | undefined
  readonly #announced: readonly string[] | undefined
  readonly #trailers = new Map<string, string>()
  #state: State = 'header'
  /** The incomplete line, decoded as Latin-1. */
  #held = ''
  /** The complete line that `#readLine` found, without its line feed. */
  #line = ''
  /** Number of bytes of the chunk that have not been received yet. */
  #left = 0
  #chunkBytes = 0
  /** Signature in the header of the current chunk. */
  #chunkSignature = ''
  #previous: string
  #hash: Hash | undefined
  #trailerBytes = 0
  #canonicalTrailers = ''
  #trailersVerified = false
  /** True if a line of the trailer ended with a bare line feed. Clients that do so write one CRLF more than the grammar has. */
  #bareLineFeed = false

  constructor({ signing, trailers }: ChunkedOptions) {
    this.#signing = signing
    this.#announced = trailers
    this.#previous = signing?.seed ?? ''
  }

  push(bytes: Buffer, emit: (payload: Buffer) => void): void {
    try {
      let at = 0
      while (at < bytes.length)
        at = this.#state === 'data' ? this.#readData(bytes, at, emit) : this.#readLine(bytes, at)
    } catch (error) {
      this.#state = 'failed'
      this.#held = ''
      throw error
    }
  }

  end(): ReadonlyMap<string, string> {
    if (this.#state !== 'end') throw authErrors.IncompleteBody()
    if (this.#held !== '') throw this.#malformed('does not end after its last chunk')
    return this.#trailers
  }

  #readData(bytes: Buffer, at: number, emit: (payload: Buffer) => void): number {
    const size = Math.min(this.#left, bytes.length - at)
    const payload = at === 0 && size === bytes.length ? bytes : bytes.subarray(at, at + size)
    const whole = size === this.#chunkBytes
    this.#left -= size
    if (this.#signing !== undefined) {
      if (whole) this.#verifyChunk(hash('sha256', payload, 'hex'))
      else {
        this.#hash ??= createHash('sha256')
        this.#hash.update(payload)
        if (this.#left === 0) {
          this.#verifyChunk(this.#hash.digest('hex'))
          this.#hash = undefined
        }
      }
    }
    if (this.#left === 0) this.#state = 'dataEnd'
    emit(payload)
    return at + size
  }

  /** Collects a line that may arrive in pieces, and processes it. Returns the next position. */
  #readLine(bytes: Buffer, at: number): number {
    if (this.#state === 'failed') throw authErrors.IncompleteBody()
    const found = bytes.indexOf(lineFeed, at)
    const end = found < 0 ? bytes.length : found
    if (this.#held.length + end - at > lineBytesMax) throw this.#malformed('has a line that is too long')
    const text = bytes.latin1Slice(at, end)
    if (found < 0) {
      this.#held += text
      return end
    }
    this.#line = this.#held === '' ? text : this.#held + text
    this.#held = ''
    this.#takeLine()
    return found + 1
  }

  #takeLine(): void {
    const line = this.#line
    const crlf = line.length > 0 && line.charCodeAt(line.length - 1) === carriageReturn
    switch (this.#state) {
      case 'header':
        if (!crlf) throw this.#malformed('has a chunk header without CRLF')
        this.#takeHeader(line.slice(0, -1))
        return
      case 'dataEnd':
        if (!crlf || line.length !== 1) throw this.#malformed('has a chunk that is longer than its size')
        this.#state = 'header'
        return
      case 'lastLine':
        if (!crlf || line.length !== 1) throw this.#malformed('does not end after its last chunk')
        this.#state = 'end'
        return
      case 'trailer':
        this.#trailerBytes += line.length + 1
        if (this.#trailerBytes > trailerBytesMax) throw authErrors.MalformedTrailerError('The trailer is too long.')
        if (!crlf) this.#bareLineFeed = true
        this.#takeTrailer(crlf ? line.slice(0, -1) : line)
        return
      default:
        if (!this.#bareLineFeed || line !== '\r') throw this.#malformed('does not end after its last chunk')
        this.#bareLineFeed = false
    }
  }

  #takeHeader(header: string): void {
    const semicolon = header.indexOf(';')
    const size = parseSize(header, semicolon < 0 ? header.length : semicolon)
    if (size < 0) throw this.#malformed('has a chunk size that is no hexadecimal number up to 5 GiB')
    if (this.#signing === undefined) {
      if (semicolon >= 0) throw this.#malformed('has an unexpected chunk extension')
    } else {
      if (semicolon < 0 || !header.startsWith(signaturePrefix, semicolon)) {
        throw this.#malformed('has a chunk without chunk-signature')
      }
      this.#chunkSignature = header.slice(semicolon + signaturePrefix.length)
      if (size > 0 && this.#chunkBytes > 0 && this.#chunkBytes < signedChunkBytesMin) {
        throw authErrors.InvalidChunkSizeError(undefined, { extra: { BadChunkSize: String(this.#chunkBytes) } })
      }
    }
    this.#chunkBytes = size
    this.#left = size
    if (size > 0) {
      this.#state = 'data'
      return
    }
    if (this.#signing !== undefined) this.#verifyChunk(emptySha256)
    this.#state = this.#announced === undefined ? 'lastLine' : 'trailer'
  }

  #verifyChunk(digest: string): void {
    const signing = this.#signing!
    const expected = sign(signing.key, chunkStringToSign(signing, this.#previous, digest))
    if (!isSignature(expected, this.#chunkSignature)) throw authErrors.SignatureDoesNotMatch()
    this.#previous = this.#chunkSignature
  }

  #takeTrailer(line: string): void {
    if (line === '') {
      this.#endTrailer()
      return
    }
    const colon = line.indexOf(':')
    if (colon <= 0 || this.#trailersVerified) throw authErrors.MalformedTrailerError()
    const name = line.slice(0, colon).toLowerCase()
    const value = trimBlanks(line.slice(colon + 1))
    if (name === trailerSignatureName && this.#signing !== undefined) {
      this.#verifyTrailers(value)
      return
    }
    if (!this.#announced!.includes(name)) {
      throw authErrors.MalformedTrailerError('The request contained a trailer that x-amz-trailer does not announce.')
    }
    if (this.#trailers.has(name)) throw authErrors.MalformedTrailerError('The request contained a trailer twice.')
    this.#trailers.set(name, value)
    this.#canonicalTrailers += `${name}:${value}\n`
  }

  #verifyTrailers(signature: string): void {
    const signing = this.#signing!
    // Encoded as Latin-1, because the lines were decoded as Latin-1: the digest covers the received bytes.
    const digest = hash('sha256', Buffer.from(this.#canonicalTrailers, 'latin1'), 'hex')
    if (!isSignature(sign(signing.key, trailerStringToSign(signing, this.#previous, digest)), signature)) {
      throw authErrors.SignatureDoesNotMatch()
    }
    this.#trailersVerified = true
  }

  #endTrailer(): void {
    if (this.#signing !== undefined && !this.#trailersVerified) {
      // Clients that end trailers with a bare line feed write an empty line before the signature.
      if (this.#bareLineFeed && this.#trailers.size > 0) return
      throw authErrors.MalformedTrailerError(`The request contained no ${trailerSignatureName}.`)
    }
    if (this.#trailers.size !== this.#announced!.length) {
      throw authErrors.MalformedTrailerError('The request lacks a trailer that x-amz-trailer announces.')
    }
    this.#state = 'end'
  }

  #malformed(what: string): CatalogError {
    return this.#state === 'trailer'
      ? authErrors.MalformedTrailerError(`The aws-chunked body ${what}.`)
      : authErrors.IncompleteBody(`The aws-chunked body ${what}.`)
  }
}

/** Parses 1 to 16 hexadecimal digits. Returns -1 for other text and for sizes above `chunkBytesMax`. */
function parseSize(text: string, end: number): number {
  if (end === 0 || end > 16) return -1
  let size = 0
  for (let i = 0; i < end; i++) {
    const digit = hexDigit(text.charCodeAt(i))
    if (digit < 0) return -1
    size = size * 16 + digit
  }
  return size <= chunkBytesMax ? size : -1
}

/** The names in an `x-amz-trailer` header, lower case. Throws MalformedTrailerError for too many or repeated names. */
export function parseTrailerNames(header: string | undefined): readonly string[] {
  if (header === undefined || header === '') return []
  const names = header.split(',', trailerCountMax + 1).map(name => trimBlanks(name).toLowerCase())
  if (names.length > trailerCountMax || new Set(names).size !== names.length || names.includes('')) {
    throw authErrors.MalformedTrailerError(`x-amz-trailer must name 1 to ${trailerCountMax} different trailers.`)
  }
  return names
}
