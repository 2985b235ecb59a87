/** Writes a blob into a set that has no records: when it is complete its shadow is committed there, before any record can refer to it. */

import type { MaybePromise } from 'svc/kernel'
import type { BlobOptions, BlobRef, BlobWriter, StorageBackend } from 'svc/plugins/storage/api'
import { blobIdFrom, idInSet } from './blob-ids.ts'
import { claimOf, groupOf, unknownGroup } from './claims.ts'
import { type GrantArgs, procedure } from './procedures.ts'

export interface PooledBlobWriterOptions {
  readonly backend: StorageBackend
  readonly setNumber: number
  readonly sizeHint: number | undefined
  readonly options: BlobOptions | undefined
  /** Told when the set cannot be written. */
  onFailed(): void
}

export class PooledBlobWriter implements BlobWriter {
  readonly id: string
  readonly #options: PooledBlobWriterOptions
  readonly #writer: BlobWriter
  /** Its shadow was asked for: from then on the set decides what becomes of its bytes. */
  #hasShadow = false
  #aborting: Promise<void> | undefined

  constructor(options: PooledBlobWriterOptions) {
    this.#options = options
    this.#writer = options.backend.createBlob(options.sizeHint, options.options)
    this.id = blobIdFrom(this.#writer.id, options.setNumber)
  }

  write(chunk: Uint8Array): MaybePromise<void> {
    const written = this.#writer.write(chunk)
    return written instanceof Promise ? written.catch(this.#fail) : written
  }

  readonly #fail = (error: unknown): never => {
    const { code } = error as { code?: unknown }
    if (code === 'unavailable' || code === 'faulty' || code === 'full') this.#options.onFailed()
    throw error
  }

  async finish(): Promise<BlobRef> {
    try {
      const { size, check } = await this.#writer.finish()
      this.#hasShadow = true
      const { backend, options } = this.#options
      const group = options?.for === undefined ? unknownGroup : groupOf(options.for)
      const args: GrantArgs[] = [{ claim: claimOf(idInSet(this.id), group), size }]
      await backend.execute(procedure.grant, args)
      return { id: this.id, size, check }
    } catch (error) {
      return this.#fail(error)
    }
  }

  abort(): Promise<void> {
    this.#aborting ??= this.#abort()
    return this.#aborting
  }

  async #abort(): Promise<void> {
    if (!this.#hasShadow) return this.#writer.abort()
    try {
      // The blob goes when its last shadow has gone.
      await this.#options.backend.execute(procedure.giveUp, idInSet(this.id))
    } catch {
      // It stays until the next start finds out.
    }
  }
}
