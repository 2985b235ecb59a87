/** Passes reads and writes of blobs to their sets, in each thread. Everything else goes to the record set. */
import type { DriveSet } from 'svc/plugins/erasure/api'
import type { BlobOptions, BlobReader, BlobRef, BlobWriter, StorageBackend } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { idInSet, isElsewhere, setOfBlob } from './blob-ids.ts'
import type { Placement } from './placement.ts'
import { PooledBlobWriter } from './pooled-blob-writer.ts'

export class Routing {
  /** By number. */
  readonly #sets: readonly DriveSet[]
  readonly #placement: Placement

  constructor(sets: readonly DriveSet[], placement: Placement) {
    this.#sets = sets
    this.#placement = placement
  }

  get records(): DriveSet {
    return this.#sets[0]!
  }

  #setOf({ id }: BlobRef): StorageBackend {
    const set = this.#sets[setOfBlob(id)]
    if (set === undefined) throw storageErrors.gone('A blob lies in a set that the storage does not have.')
    return set
  }

  /** Throws while the record set refuses changes: no record could refer to the blob, wherever it lay. */
  createBlob(sizeHint?: number, options?: BlobOptions): BlobWriter {
    const placement = this.#placement
    const { records } = this
    records.requireQuorum()
    const setNumber = placement.choose(sizeHint)
    if (setNumber === 0) return records.createBlob(sizeHint, options)
    const backend = this.#sets[setNumber]!
    const onFailed = () => placement.exclude(setNumber)
    return new PooledBlobWriter({ backend, records, setNumber, sizeHint, options, onFailed })
  }

  readBlob(ref: BlobRef, start: number, length: number): BlobReader {
    if (!isElsewhere(ref.id)) return this.records.readBlob(ref, start, length)
    return this.#setOf(ref).readBlob({ ...ref, id: idInSet(ref.id) }, start, length)
  }

  pinBlobs(refs: readonly BlobRef[]): () => void {
    if (!refs.some(({ id }) => isElsewhere(id))) return this.records.pinBlobs(refs)
    const bySet = new Map<StorageBackend, BlobRef[]>()
    for (const ref of refs) {
      const set = this.#setOf(ref)
      const own = bySet.get(set) ?? []
      own.push({ ...ref, id: idInSet(ref.id) })
      bySet.set(set, own)
    }
    const releases = [...bySet].map(([set, own]) => set.pinBlobs(own))
    return () => {
      for (const release of releases.splice(0)) release()
    }
  }
}
