/**
 * Changes that are not known to be on a write quorum, in the storage thread: those under way, and those whose outcome is in doubt. Any of them
 * may still be undone, if the drives that have it fail. So no drive deletes shards that one of them has taken from a record.
 */
import type { Clock } from 'svc/kernel'

export class UnconfirmedChanges {
  readonly #clock: Clock
  #serial = 0
  /** By serial number, the monotonic time in milliseconds at which it was begun; oldest first. */
  readonly #underWay = new Map<number, number>()
  readonly #inDoubt = new Map<number, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Before the leader gets it. Returns its serial number, which follows the order of changes. */
  begin(): number {
    const serial = ++this.#serial
    this.#underWay.set(serial, Number(this.#clock.monotonicNs() / 1_000_000n))
    return serial
  }

  /** It was refused: no drive has it. */
  drop(serial: number): void {
    this.#underWay.delete(serial)
  }

  /**
   * It is on a write quorum, with all changes before it that its leader has. Those before it that its leader does not have will be undone wherever
   * they are, before their drives are current again. So none before it is in doubt any more.
   */
  confirm(serial: number): void {
    this.#underWay.delete(serial)
    for (const earlier of this.#inDoubt.keys()) if (earlier < serial) this.#inDoubt.delete(earlier)
  }

  doubt(serial: number): void {
    const startMs = this.#underWay.get(serial)
    if (startMs === undefined) return
    this.#underWay.delete(serial)
    this.#inDoubt.set(serial, startMs)
  }

  get hasDoubts(): boolean {
    return this.#inDoubt.size > 0
  }

  /** When the oldest was begun, in milliseconds of the monotonic clock: what was done before that stays. Infinity if there is none. */
  get oldestMs(): number {
    let oldestMs = Number.POSITIVE_INFINITY
    for (const startMs of this.#inDoubt.values()) oldestMs = Math.min(oldestMs, startMs)
    for (const startMs of this.#underWay.values()) return Math.min(oldestMs, startMs)
    return oldestMs
  }
}
