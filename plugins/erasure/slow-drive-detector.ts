/**
 * Finds drives that hang, in the thread that commits. A drive says nothing of that itself, and a machine that is busy makes all of them
 * slow: so one is compared with the others. It is late when something that it was asked has waited, since enough others had answered what
 * they were asked before, for two seconds, or for as long again as these had taken.
 *
 * | Others that go on | Given up after | Why |
 * |---|---|---|
 * | a write quorum, or it lacks changes anyway | 2 s | the set goes on without it |
 * | enough to read | 10 s | without it nothing can be written: it is waited for a little longer |
 * | fewer | 60 s without any answer | nothing is won by that but an answer for those who wait |
 *
 * Whether drives that nothing is asked of go on is not known: they are made to write (`probe`). A drive that was given up is as one that has
 * failed: it is `offline`, the set goes on without it, and it catches up when it has answered everything.
 */
import { storageErrors } from 'svc/plugins/storage/api'
import type { AnswerWatch, PendingAnswer } from './answer-watch.ts'
import type { ErasureSet } from './erasure-set.ts'
import type { Member } from './member.ts'

/** In ticks of the watch, of which there are four in a second. */
const ticksBeforeProbe = 2
const timeoutTicks = 8
const timeoutTicksWithoutQuorum = 40
const silentTicks = 240

export class SlowDriveDetector {
  readonly #set: ErasureSet
  readonly #watch: AnswerWatch

  constructor(set: ErasureSet, watch: AnswerWatch) {
    this.#set = set
    this.#watch = watch
    watch.onTick = () => this.#look()
  }

  /** Somebody waits for the drive, in another thread: makes it show whether it goes on. */
  suspect(slot: number): void {
    const member = this.#set.members[slot]!
    if (!this.#set.isStopping && member.takesWrites && member.drive.answers.oldest === undefined) this.#probe(member)
  }

  #probe({ drive, slot }: Member): void {
    drive.probe().catch(error => this.#set.onDriveError(slot, error))
  }

  #look(): void {
    const { tick } = this.#watch
    if (this.#set.isStopping) return
    for (const member of this.#set.members) {
      const { oldest } = member.drive.answers
      if (!member.takesWrites || oldest === undefined || tick - oldest.sinceTick < ticksBeforeProbe) continue
      this.#probeOthers(oldest)
      if (!this.#isTimedOut(member, oldest)) continue
      const seconds = Math.round(((tick - oldest.sinceTick) * this.#watch.tickMs) / 1000)
      this.#set.onTimeout(
        member,
        storageErrors.unavailable(`The drive ${member.path} has not answered for ${seconds} s.`),
      )
    }
  }

  #probeOthers({ serial }: PendingAnswer): void {
    for (const other of this.#set.members) {
      const { oldest, answeredSerial } = other.drive.answers
      if (other.takesWrites && oldest === undefined && answeredSerial < serial) this.#probe(other)
    }
  }

  #isTimedOut(member: Member, oldest: PendingAnswer): boolean {
    const { tick } = this.#watch
    const { answers } = member.drive
    const { dataCount, writeQuorum } = this.#set
    const others = this.#countBefore(oldest, member)
    if (others < dataCount) {
      answers.overdue = undefined
      return tick - Math.max(oldest.sinceTick, answers.answeredTick) >= silentTicks
    }
    if (answers.overdue !== oldest) {
      answers.overdue = oldest
      answers.overdueSinceTick = tick
    }
    const isEnough = others >= writeQuorum || member.state === 'behind'
    const patience = Math.max(
      isEnough ? timeoutTicks : timeoutTicksWithoutQuorum,
      answers.overdueSinceTick - oldest.sinceTick - ticksBeforeProbe,
    )
    return tick - answers.overdueSinceTick >= patience
  }

  /** Current drives that have answered all that they were asked before this, and something since. */
  #countBefore({ serial }: PendingAnswer, late: Member): number {
    let count = 0
    for (const other of this.#set.members) {
      if (other === late || other.state !== 'current') continue
      const { oldest, answeredSerial } = other.drive.answers
      if (answeredSerial >= serial && (oldest === undefined || oldest.serial > serial)) count++
    }
    return count
  }
}
