/**
 * Changes that are not known to be on a write quorum, in the storage thread: those under way, and those whose outcome is in doubt. Any of them
 * may still be undone, if the drives that have it fail. So no drive deletes shards that one of them has taken from a record.
 *
 * A leader that is elected, at the start or later, may have changes of a former one that no quorum has. They are in doubt as well.
 */
import type { Clock } from 'svc/kernel'

export class UnconfirmedChanges {
  readonly #clock: Clock
  #serial = 0
  /** By serial number, the monotonic time in milliseconds at which it was begun; oldest first. */
  readonly #underWay = new Map<number, number>()
  readonly #inDoubt = new Map<number, number>()
  #oldestDoubtMs = Number.POSITIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** In the turn in which the leader is asked, and so before it runs. Returns its serial number, which follows the order of changes. */
  begin(): number {
    const serial = ++this.#serial
    this.#underWay.set(serial, this.#now())
    return serial
  }

  #now(): number {
    return Number(this.#clock.monotonicNs() / 1_000_000n)
  }

  /** A leader was elected: whatever it brings is in doubt, and what others take over from it. */
  doubtElected(): void {
    this.#doubt(++this.#serial, this.#now())
  }

  #doubt(serial: number, startMs: number): void {
    this.#inDoubt.set(serial, startMs)
    this.#oldestDoubtMs = Math.min(this.#oldestDoubtMs, startMs)
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
    if (this.#inDoubt.size === 0) return
    this.#oldestDoubtMs = Number.POSITIVE_INFINITY
    for (const [each, startMs] of this.#inDoubt) {
      if (each < serial) this.#inDoubt.delete(each)
      else this.#oldestDoubtMs = Math.min(this.#oldestDoubtMs, startMs)
    }
  }

  doubt(serial: number): void {
    const startMs = this.#underWay.get(serial)
    if (startMs === undefined) return
    this.#underWay.delete(serial)
    this.#doubt(serial, startMs)
  }

  get hasDoubts(): boolean {
    return this.#inDoubt.size > 0
  }

  /** When the oldest was begun, in milliseconds of the monotonic clock: what was done before that stays. Infinity if there is none. */
  get oldestMs(): number {
    for (const startMs of this.#underWay.values()) return Math.min(this.#oldestDoubtMs, startMs)
    return this.#oldestDoubtMs
  }
}
