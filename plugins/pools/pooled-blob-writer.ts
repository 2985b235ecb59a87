/**
 * Writes a blob into a blob set. When it is complete, its remote reference is committed there, before any record can refer to the blob.
 * Created by `Routing`.
 */
import type { MaybePromise } from 'svc/kernel'
import type { DriveSet } from 'svc/plugins/erasure/api'
import type { BlobOptions, BlobRef, BlobWriter, StorageBackend } from 'svc/plugins/storage/api'
import { blobIdFrom, idInSet } from './blob-ids.ts'
import { blobReferenceOf, groupOf, unknownGroup } from './blob-references.ts'
import { type AcquireArgs, procedure } from './procedures.ts'

export interface PooledBlobWriterOptions {
  readonly backend: StorageBackend
  readonly records: Pick<DriveSet, 'requireQuorum'>
  readonly setNumber: number
  readonly sizeHint: number | undefined
  readonly options: BlobOptions | undefined
  /** Called when the set cannot be written. */
  onFailed(): void
}

export class PooledBlobWriter implements BlobWriter {
  readonly id: string
  readonly #options: PooledBlobWriterOptions
  readonly #writer: BlobWriter
  /** Its remote reference was requested: from then on the set decides when the blob is deleted. */
  #hasRemoteReference = false
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
    // Where it throws no record can refer to the blob: without a remote reference, `abort` deletes what is written, finished or not.
    const { records } = this.#options
    records.requireQuorum()
    const { size, check } = await this.#writer.finish().catch(this.#fail)
    records.requireQuorum()
    try {
      this.#hasRemoteReference = true
      const { backend, options } = this.#options
      const group = options?.for === undefined ? unknownGroup : groupOf(options.for)
      const args: AcquireArgs[] = [{ reference: blobReferenceOf(idInSet(this.id), group), size }]
      await backend.execute(procedure.acquire, args)
      return { id: this.id, size, check }
    } catch (error) {
      return this.#fail(error)
    }
  }

  abort(): Promise<void> {
    this.#aborting ??= this.#abort()
    return this.#aborting
  }

  /** Its references that no commit used are fresh, and are dropped here: those of a commit that ran are resolved when its outcome is known. */
  abandon(): Promise<void> {
    return this.abort()
  }

  async #abort(): Promise<void> {
    if (!this.#hasRemoteReference) return this.#writer.abort()
    try {
      // The blob is deleted with its last remote reference.
      await this.#options.backend.execute(procedure.abandon, idInSet(this.id))
    } catch {
      // It stays until the orphan sweep after the next start.
    }
  }
}
