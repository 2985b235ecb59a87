/** Blobs between their writing and their first record, in the thread that commits. */
import type { KnownBlob } from './set-transaction.ts'

/** Of more the oldest are forgotten. */
const blobsMax = 100_000

/** The blobs that were finished last: who puts the first record of one has not read it from another. */
export class FreshBlobs {
  readonly #known = new Map<string, KnownBlob>()

  add(id: string, blob: KnownBlob): void {
    if (this.#known.size >= blobsMax) this.#known.delete(this.#known.keys().next().value!)
    this.#known.set(id, blob)
  }

  has(id: string): boolean {
    return this.#known.has(id)
  }

  get(id: string): KnownBlob | undefined {
    return this.#known.get(id)
  }
}
