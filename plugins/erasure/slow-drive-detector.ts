/**
 * Detects drives that hang, in the storage thread. A drive that hangs reports no error, and on a busy machine all drives are slow; so
 * drives are compared with each other. A request is overdue from the moment when enough other drives to read without this one have
 * answered every request that they were given before it. The drive times out when the request stays overdue for the time in the table,
 * or for the time that the others took to answer, whichever is longer.
 *
 * | Other drives that have answered | Timeout | Why |
 * |---|---|---|
 * | a write quorum, or the drive is behind anyway | 2 s | the set goes on without it |
 * | enough to read | 10 s | nothing can be written without it, so it gets more time |
 * | fewer: nothing to compare with | 60 s without any answer | the set stops serving either way; a timeout gives waiting callers an error, and changes nothing else |
 *
 * Drives without requests are probed (`probe` makes them write), so that they can be compared. A drive that timed out is treated like a
 * failed one: it is `offline`, the set goes on without it, and it catches up once it has answered everything.
 *
 * `backend.ts` creates it; `AnswerWatch` calls it at each tick, four times a second.
 */
import { storageErrors } from 'svc/plugins/storage/api'
import type { AnswerWatch, PendingAnswer } from './answer-watch.ts'
import type { ErasureSet } from './erasure-set.ts'
import type { Member } from './member.ts'

/** In ticks of the watch, four a second. */
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

  /** A worker thread waits for the drive: probes it, so that it is compared with the others. */
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
        storageErrors.unavailable(
          `The drive ${member.path} has not answered for ${seconds} s. It is offline until it answers; look at dmesg.`,
        ),
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

  /** Other current drives that have answered something newer than this request, and everything older. */
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
