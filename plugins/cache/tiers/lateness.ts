/**
 * Whose fault it is that a tier has not answered: that of the tier, or of a process that has no time for the answer. A look-up in a folder takes
 * a few trips to the thread pool; on a busy machine those take 50 ms though the disk takes none.
 *
 * | After | |
 * |---|---|
 * | 25 ms | a witness begins to make trips to the thread pool, without any I/O, one after the other with pauses of 3 ms |
 * | 50 ms | nobody waits any more. The tier is to blame if the event loop was punctual and the witness was there and back 4 times |
 * | 250 ms, 1 s | also if the event loop was punctual since the look before, and the witness has made more trips than any look-up needs; or none at all, though the process has used less than half a processor: it is stuck behind calls of the tier itself |
 * | 5 s | in any case |
 *
 * The event loop is punctual where its timers are called within 10 ms of their time.
 */
import { randomFill } from 'node:crypto'
import type { Clock } from 'svc/kernel'

export const answerMsMax = 50
const witnessAfterMs = 25
const laterLooksMs = [250, 1000] as const
const hopelessMs = 5000
const punctualMsMax = 10
const pauseMs = 3
/** Within 25 ms, and until a later look: a look-up makes about three. */
const tripsMin = { first: 4, later: 10 } as const

/** Resolves after a trip to the thread pool. */
const poolTrip = () =>
  new Promise<void>(done => {
    randomFill(Buffer.allocUnsafe(1), () => done())
  })

export interface Watched {
  /** Called after 50 ms. */
  onLate(): void
  /** Called at most once, not before `onLate`. */
  onBlame(): void
  /** Only 5 s count: it is no I/O of the tier that is waited for. */
  readonly isPatient: boolean
}

export interface Lateness {
  /** From now on. Returns what is to be called when the answer has come. */
  watch(call: Watched): () => void
}

/** Makes trips for as long as somebody looks. */
class Witness {
  readonly #clock: Clock
  readonly #makeTrip: () => Promise<unknown>
  #watchers = 0
  #isUnderWay = false
  /** Since the start. */
  trips = 0
  /** Of timers that came late. */
  delays = 0

  constructor(clock: Clock, makeTrip: () => Promise<unknown>) {
    this.#clock = clock
    this.#makeTrip = makeTrip
  }

  begin(): void {
    this.#watchers++
    if (!this.#isUnderWay) this.#travel()
  }

  end(): void {
    this.#watchers--
  }

  /** Calls `step` at a time; where it was called late it counts. */
  at(atNs: bigint, step: () => void): () => void {
    return this.#clock.after(Math.max(0, Number(atNs - this.#clock.monotonicNs()) / 1e6), () => {
      if (Number(this.#clock.monotonicNs() - atNs) / 1e6 > punctualMsMax) this.delays++
      step()
    })
  }

  #travel(): void {
    this.#isUnderWay = true
    const back = () => {
      this.trips++
      this.#isUnderWay = false
      if (this.#watchers === 0) return
      this.#isUnderWay = true
      this.at(this.#clock.monotonicNs() + BigInt(pauseMs * 1e6), () => {
        this.#isUnderWay = false
        if (this.#watchers > 0) this.#travel()
      })
    }
    this.#makeTrip().then(back, back)
  }
}

export function createLateness(clock: Clock, makeTrip: () => Promise<unknown> = poolTrip): Lateness {
  const witness = new Witness(clock, makeTrip)

  return {
    watch({ onLate, onBlame, isPatient }) {
      const beganNs = clock.monotonicNs()
      let cancel: () => void
      let isWitnessed = false
      let trips = 0
      let delays = witness.delays
      let used = { user: 0, system: 0 }

      const at = (ms: number, step: () => void) => {
        cancel = witness.at(beganNs + BigInt(ms * 1e6), step)
      }
      function end(): void {
        cancel()
        if (isWitnessed) witness.end()
        isWitnessed = false
      }
      function blame(): void {
        end()
        onBlame()
      }
      const isPunctual = () => witness.delays === delays
      const madeTrips = () => witness.trips - trips
      const isIdle = (ms: number) => {
        const { user, system } = process.cpuUsage(used)
        return (user + system) / 1000 < (ms - witnessAfterMs) / 2
      }
      function lookAt(index: number): void {
        const ms = laterLooksMs[index]
        if (ms === undefined) {
          at(hopelessMs, blame)
          return
        }
        delays = witness.delays
        at(ms, () => {
          const hadTime = madeTrips() >= tripsMin.later || (madeTrips() === 0 && isIdle(ms))
          if (!isPatient && isPunctual() && hadTime) blame()
          else lookAt(index + 1)
        })
      }
      at(witnessAfterMs, () => {
        witness.begin()
        isWitnessed = true
        trips = witness.trips
        used = process.cpuUsage()
        at(answerMsMax, () => {
          onLate()
          if (!isPatient && isPunctual() && madeTrips() >= tripsMin.first) return blame()
          lookAt(0)
        })
      })
      return end
    },
  }
}
