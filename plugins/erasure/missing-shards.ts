/**
 * Shards that readers and drives found missing or corrupt, in memory, until `RepairLoop.markMissingShards` writes it into their records.
 * Filled by `ErasureSet.onMissingShard`.
 */
import type { MissingShard } from './set-view.ts'

/** Further ones are dropped: the next reader finds them again. */
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

  /** Takes out the first `countMax`. */
  take(countMax = missingShardsMax): readonly MissingShard[] {
    const taken = [...this.#byName].slice(0, countMax)
    for (const [name] of taken) this.#byName.delete(name)
    return taken.map(([, missingShard]) => missingShard)
  }

  /** Removes the shards of a record and its blobs on one drive, because they are rebuilt now. */
  remove(slot: number, key: Buffer, blobIds: readonly string[]): void {
    for (const name of [key.latin1Slice(), ...blobIds]) this.#byName.delete(`${slot} ${name}`)
  }
}
