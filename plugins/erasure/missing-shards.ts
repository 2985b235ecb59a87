/** Shards that readers and drives found missing or damaged, until the records of them say so. */
import type { MissingShard } from './set-view.ts'

/** What is more is forgotten: it is found again. */
const missingShardsMax = 10_000

export class MissingShards {
  /** By slot, and key or blob. */
  readonly #byName = new Map<string, MissingShard>()

  get count(): number {
    return this.#byName.size
  }

  add(missingShard: MissingShard): void {
    const { slot, key, blobId } = missingShard
    if (this.#byName.size >= missingShardsMax) return
    this.#byName.set(`${slot} ${blobId ?? key!.latin1Slice()}`, missingShard)
  }

  /** The first of what has been noted; it is not noted any more then. */
  take(countMax = missingShardsMax): readonly MissingShard[] {
    const taken = [...this.#byName].slice(0, countMax)
    for (const [name] of taken) this.#byName.delete(name)
    return taken.map(([, missingShard]) => missingShard)
  }

  /** What was noted of the shards of a record and its blobs, before they were made anew. */
  remove(slot: number, key: Buffer, blobIds: readonly string[]): void {
    for (const name of [key.latin1Slice(), ...blobIds]) this.#byName.delete(`${slot} ${name}`)
  }
}
