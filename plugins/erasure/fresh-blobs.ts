/** Blobs that are written and have no record yet, in the storage thread. The set looks up in it which drives have a new blob. */
import type { KnownBlob } from './set-transaction.ts'

/** Maximum number; the oldest ones beyond it are dropped. A record that references a dropped one counts it as missing. */
const blobsMax = 100_000

/** The blobs that were finished last. A blob that no record references is only known from here. */
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
