/**
 * Blobs of other sets that were finished in this run of the server and to which no acknowledged record refers yet, in the thread that
 * commits. A record may refer to these, and to blobs that a record refers to already; to nothing else.
 *
 * | State | Next |
 * |---|---|
 * | idle | a transaction refers to it: referred; it is given up: gone |
 * | referred | acknowledged: gone from here, the record has it; refused: idle; not known: it stays so until the server ends |
 */

/** More are never under way. Of more the oldest are forgotten: records that come to refer to these are refused. */
const blobsMax = 100_000

interface Fresh {
  readonly size: number
  isReferred: boolean
}

export class FreshBlobs {
  readonly #blobs = new Map<string, Fresh>()

  add(id: string, size: number): void {
    // A transaction may run twice.
    if (this.#blobs.has(id)) return
    if (this.#blobs.size >= blobsMax) this.#blobs.delete(this.#blobs.keys().next().value!)
    this.#blobs.set(id, { size, isReferred: false })
  }

  sizeOf(id: string): number | undefined {
    return this.#blobs.get(id)?.size
  }

  /** A transaction refers to it. False where it is not fresh. */
  refer(id: string): boolean {
    const found = this.#blobs.get(id)
    if (found === undefined) return false
    found.isReferred = true
    return true
  }

  /** The transaction was not made. */
  onRefused(ids: readonly string[]): void {
    for (const id of ids) {
      const found = this.#blobs.get(id)
      if (found !== undefined) found.isReferred = false
    }
  }

  onAcknowledged(ids: readonly string[]): void {
    for (const id of ids) this.#blobs.delete(id)
  }

  /** Nobody will refer to it any more. False where a transaction may have done so, or it is not known. */
  giveUp(id: string): boolean {
    if (this.#blobs.get(id)?.isReferred !== false) return false
    return this.#blobs.delete(id)
  }
}
