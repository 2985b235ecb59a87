import { createHash, type Hash, hash } from 'node:crypto'
import type { PayloadDecoder } from 'svc/plugins/iam/api'
import { emptySha256 } from './canonical.ts'
import { authErrors } from './errors.ts'

const noTrailers: ReadonlyMap<string, string> = new Map()

/** Passes the body on unchanged, and at its end compares its SHA-256 with the signed one. */
export class Sha256Decoder implements PayloadDecoder {
  readonly #expected: string
  readonly #sizeBytes: number
  #hash: Hash | undefined
  #digest: string | undefined

  /** `sizeBytes`: the announced length, or -1; a body that arrives in one piece is then hashed in one call. */
  constructor(expected: string, sizeBytes: number) {
    this.#expected = expected
    this.#sizeBytes = sizeBytes
  }

  push(bytes: Buffer, emit: (payload: Buffer) => void): void {
    if (bytes.length === 0) return
    if (this.#digest !== undefined) throw authErrors.IncompleteBody('The body is longer than its Content-Length.')
    if (this.#hash === undefined) {
      if (bytes.length === this.#sizeBytes) {
        this.#digest = hash('sha256', bytes, 'hex')
        emit(bytes)
        return
      }
      this.#hash = createHash('sha256')
    }
    this.#hash.update(bytes)
    emit(bytes)
  }

  end(): ReadonlyMap<string, string> {
    const computed = this.#hash?.digest('hex') ?? this.#digest ?? emptySha256
    if (computed !== this.#expected) {
      throw authErrors.XAmzContentSHA256Mismatch(undefined, {
        extra: { ClientComputedContentSHA256: this.#expected, S3ComputedContentSHA256: computed },
      })
    }
    return noTrailers
  }
}
