/**
 * Whose fault it is that a tier has not answered: that of the tier, or of a process that has no time for the answer. A look-up in a folder takes
 * a few trips to the thread pool; on a busy machine those take 50 ms though the disk takes none.
 *
 * | After | |
 * |---|---|
 * | 25 ms | a witness makes one trip to the thread pool, without any I/O |
 * | 50 ms | nobody waits any more. The tier is to blame if the witness was back within 10 ms and the event loop was punctual |
 * | 250 ms | and also if the event loop was punctual since, and the witness is back with five times its trip over; or is not back, though the process has used less than half a processor: it is stuck behind calls of the tier itself |
 * | 1 s | and in any case |
 *
 * The event loop was punctual where its timers were called within 10 ms of their time.
 */
import { randomFill } from 'node:crypto'
import type { Clock } from 'svc/kernel'

export const answerMsMax = 50
const witnessAfterMs = 25
const secondLookMs = 250
const hopelessMs = 1000
const punctualMsMax = 10
/** Trips of a look-up, and some. */
const tripsMax = 5

/** Resolves after a trip to the thread pool. */
const poolTrip = () =>
  new Promise<void>(done => {
    randomFill(Buffer.allocUnsafe(1), () => done())
  })

interface Witness {
  tookMs: number | undefined
}

export interface Watched {
  /** Called after 50 ms. */
  onLate(): void
  /** Called at most once, not before `onLate`. */
  onBlame(): void
  /** Only 1 s counts: it is no I/O of the tier that is waited for. */
  readonly isPatient: boolean
}

export interface Lateness {
  /** From now on. Returns what is to be called when the answer has come. */
  watch(call: Watched): () => void
}

export function createLateness(clock: Clock, makeTrip: () => Promise<unknown> = poolTrip): Lateness {
  /** Under way, for all calls. */
  let underWay: Witness | undefined

  const msSince = (ns: bigint) => Number(clock.monotonicNs() - ns) / 1e6

  function witness(): Witness {
    if (underWay !== undefined) return underWay
    const own: Witness = { tookMs: undefined }
    underWay = own
    const beganNs = clock.monotonicNs()
    const isBack = () => {
      own.tookMs = msSince(beganNs)
      underWay = undefined
    }
    makeTrip().then(isBack, isBack)
    return own
  }

  return {
    watch({ onLate, onBlame, isPatient }) {
      const beganNs = clock.monotonicNs()
      let cancel: () => void
      let isPunctual = true
      let seen: Witness | undefined
      let used = { user: 0, system: 0 }

      function at(ms: number, step: () => void): void {
        cancel = clock.after(Math.max(0, ms - msSince(beganNs)), () => {
          if (msSince(beganNs) - ms > punctualMsMax) isPunctual = false
          step()
        })
      }
      function look(isToBlame: boolean): boolean {
        if (isToBlame && !isPatient) onBlame()
        return isToBlame && !isPatient
      }
      /** Long enough for a look-up, as trips are now; or they end no more, and no work is why. */
      function hadTime(): boolean {
        const ms = msSince(beganNs) - witnessAfterMs
        if (seen?.tookMs !== undefined) return ms > tripsMax * seen.tookMs
        const { user, system } = process.cpuUsage(used)
        return (user + system) / 1000 < ms / 2
      }
      at(witnessAfterMs, () => {
        seen = witness()
        used = process.cpuUsage()
        at(answerMsMax, () => {
          onLate()
          if (look(isPunctual && seen?.tookMs !== undefined && seen.tookMs <= punctualMsMax)) return
          isPunctual = true
          at(secondLookMs, () => {
            if (!look(isPunctual && hadTime())) at(hopelessMs, onBlame)
          })
        })
      })
      return () => cancel()
    },
  }
}
