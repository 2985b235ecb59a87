/** Shards that readers and drives found missing or damaged, until the records of them say so. */
import type { Damage } from './set-view.ts'

/** What is more is forgotten: it is found again. */
const damagesMax = 10_000

export class Damages {
  /** By slot, and key or blob. */
  readonly #byName = new Map<string, Damage>()

  get count(): number {
    return this.#byName.size
  }

  add(damage: Damage): void {
    const { slot, key, blobId } = damage
    if (this.#byName.size >= damagesMax) return
    this.#byName.set(`${slot} ${blobId ?? key!.latin1Slice()}`, damage)
  }

  /** The first of what has been noted; it is not noted any more then. */
  take(countMax = damagesMax): readonly Damage[] {
    const taken = [...this.#byName].slice(0, countMax)
    for (const [name] of taken) this.#byName.delete(name)
    return taken.map(([, damage]) => damage)
  }

  /** What was noted of the shards of a record and its blobs, before they were made anew. */
  forget(slot: number, key: Buffer, blobIds: readonly string[]): void {
    for (const name of [key.latin1Slice(), ...blobIds]) this.#byName.delete(`${slot} ${name}`)
  }
}
