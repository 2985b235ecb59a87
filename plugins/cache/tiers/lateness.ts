/**
 * Decides whether a late answer is the fault of the tier or of this process. A look-up in a folder makes about three trips through the thread pool;
 * on a busy machine these can take 50 ms although the disk takes no time.
 *
 * | After | |
 * |---|---|
 * | 25 ms | a witness begins to make trips through the thread pool, without any I/O, one after the other with pauses of 3 ms |
 * | 50 ms | the caller gets a miss. The tier is blamed if the event loop was punctual and the witness has made 4 trips |
 * | 250 ms, 1 s | the tier is blamed if the event loop was punctual since the previous check, and the witness has made 10 trips or the process wanted less than half a processor: then the tier's own calls fill the pool |
 * | the answer, if 150 ms or more | the tier is blamed if the event loop was punctual since the previous check and the process wanted less than half a processor |
 * | 5 s | the tier is blamed in any case |
 *
 * The event loop is punctual if its timers are called within 10 ms of their time. A process wants what its threads use of processors, and what
 * they wait for them while others have them.
 */
import { randomFill } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { Clock } from 'svc/kernel'

export const answerMsMax = 50
const witnessAfterMs = 25
const laterLooksMs = [250, 1000] as const
const hopelessMs = 5000
/** An answer that comes later than this is slow, where the process was not busy. */
const slowMsMin = 150
const punctualMsMax = 10
const pauseMs = 3
/** Trips, counted from 25 ms on, at which the tier is blamed: at 50 ms, and at a later check. A look-up makes about three. */
const tripsMin = { first: 4, later: 10 } as const

/** Resolves after a trip through the thread pool. */
const poolTrip = () =>
  new Promise<void>(done => {
    randomFill(Buffer.allocUnsafe(1), () => done())
  })

export interface Watched {
  /** Called if there is no answer after 50 ms. */
  onLate(): void
  /** Called if the tier is blamed: at most once, and not before `onLate`. */
  onBlame(): void
  /** True: the tier is blamed only after 5 s, because the call waits for no I/O of the tier. */
  readonly isPatient: boolean
}

export interface Lateness {
  /** Watches a call from now on. Returns a function to call when the answer has come, which may blame the tier for it. */
  watch(call: Watched): () => void
}

/** Milliseconds that a thread of this process has waited for a processor. */
function waitedMsOf(thread: string): number {
  try {
    // Nanoseconds on a processor, nanoseconds waited for one, number of turns.
    return Number(readFileSync(`/proc/self/task/${thread}/schedstat`, 'latin1').split(' ')[1]) / 1e6
  } catch {
    // It has just ended, or the kernel does not count.
    return 0
  }
}

/** The same of all threads; 0 on systems other than Linux. */
function waitedMs(): number {
  try {
    return readdirSync('/proc/self/task').reduce((sum, thread) => sum + waitedMsOf(thread), 0)
  } catch {
    return 0
  }
}

/** Calls become late together: for so long one answer is good enough for all of them. */
const wantedMsMax = 5
let wanted = { atMs: Number.NEGATIVE_INFINITY, ms: 0 }

/** Milliseconds of processor that all threads of this process have used or waited for. */
function wantedMsOfProcess(): number {
  const atMs = performance.now()
  if (atMs - wanted.atMs < wantedMsMax) return wanted.ms
  const { user, system } = process.cpuUsage()
  wanted = { atMs, ms: (user + system) / 1000 + waitedMs() }
  return wanted.ms
}

/** Makes trips through the thread pool while any watched call is older than 25 ms. */
class Witness {
  readonly #clock: Clock
  readonly #makeTrip: () => Promise<unknown>
  #watchers = 0
  #isUnderWay = false
  /** Number of trips since the start. */
  trips = 0
  /** Number of timers of this file that were called more than 10 ms late. */
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

  /** Calls `step` at this time; counts in `delays` if that is more than 10 ms late. Returns a function that cancels it. */
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

export function createLateness(
  clock: Clock,
  makeTrip: () => Promise<unknown> = poolTrip,
  wantedMs: () => number = wantedMsOfProcess,
): Lateness {
  const witness = new Witness(clock, makeTrip)

  return {
    watch({ onLate, onBlame, isPatient }) {
      const beganNs = clock.monotonicNs()
      let cancel: () => void
      let isWitnessed = false
      let trips = 0
      let delays = witness.delays
      let before = 0
      let isLate = false
      let isBlamed = false

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
        if (isBlamed) return
        isBlamed = true
        onBlame()
      }
      const isPunctual = () => witness.delays === delays
      const madeTrips = () => witness.trips - trips
      const isIdle = (ms: number) => wantedMs() - before < (ms - witnessAfterMs) / 2
      function lookAt(index: number): void {
        const ms = laterLooksMs[index]
        if (ms === undefined) {
          at(hopelessMs, blame)
          return
        }
        delays = witness.delays
        at(ms, () => {
          const hadTime = madeTrips() >= tripsMin.later || isIdle(ms)
          if (!isPatient && isPunctual() && hadTime) blame()
          else lookAt(index + 1)
        })
      }
      at(witnessAfterMs, () => {
        witness.begin()
        isWitnessed = true
        trips = witness.trips
        before = wantedMs()
        at(answerMsMax, () => {
          isLate = true
          onLate()
          if (!isPatient && isPunctual() && madeTrips() >= tripsMin.first) return blame()
          lookAt(0)
        })
      })
      return () => {
        const ms = Number(clock.monotonicNs() - beganNs) / 1e6
        // Before the next look: each of several look-ups may come just in time for it.
        if (isLate && !isPatient && ms >= slowMsMin && isPunctual() && isIdle(ms)) blame()
        else end()
      }
    },
  }
}
