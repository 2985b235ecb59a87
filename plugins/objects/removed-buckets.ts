/**
 * The buckets that were deleted last. A request is authorized before its body is received, and meanwhile its bucket may be deleted, and made
 * again by somebody else with other rights: the object must not get into that one.
 */

/** More are forgotten; a request that began before a forgotten deletion is refused too. */
const namesMax = 50_000

export class RemovedBuckets {
  /** The monotonic time of the last deletion of each, oldest first. */
  readonly #removedNs = new Map<string, number>()
  #forgottenNs = Number.NEGATIVE_INFINITY

  add(name: string, nowNs: number): void {
    this.#removedNs.delete(name)
    this.#removedNs.set(name, nowNs)
    if (this.#removedNs.size <= namesMax) return
    const [oldest, removedNs] = this.#removedNs.entries().next().value!
    this.#removedNs.delete(oldest)
    this.#forgottenNs = removedNs
  }

  isRemovedSince(name: string, begunNs: number): boolean {
    return begunNs < this.#forgottenNs || begunNs < (this.#removedNs.get(name) ?? Number.NEGATIVE_INFINITY)
  }
}
