/**
 * Tracks the requests of one thread to the drives of a set that are not answered yet. A drive that hangs reports no error. Instead the
 * set suspends it: all of its unanswered requests are rejected, so that their callers go on as after an error, and answers that come
 * later are ignored.
 *
 * Time is counted in ticks, and only while a request waits. A tick is a turn of the event loop at least `tickMs` after the last one: a
 * process that was stalled counts one tick, not many, and sees the answers that came meanwhile before the next tick.
 *
 * `WatchedDrive` reports requests; `SlowDriveDetector` (storage thread) and `WorkerSet` (worker threads) judge them at each tick.
 */
import type { Clock } from 'svc/kernel'

export const defaultTickMs = 250

/** A request to a drive that has not been answered. */
export interface PendingAnswer {
  /** Number of the request among all of this thread to the set's drives. */
  readonly serial: number
  readonly sinceTick: number
  reject(error: unknown): void
}

export class AnswerWatch {
  readonly #clock: Clock
  readonly tickMs: number
  readonly #drives: DriveAnswers[] = []
  #isArmed = false
  /** Increases only while a request waits. */
  tick = 0
  serial = 0
  /** Called at each tick. */
  onTick: (() => void) | undefined

  constructor(clock: Clock, tickMs = defaultTickMs) {
    this.#clock = clock
    this.tickMs = tickMs
  }

  /** For one drive. */
  answers(): DriveAnswers {
    const answers = new DriveAnswers(this)
    this.#drives.push(answers)
    return answers
  }

  /** Calls `callback` once after so many ticks. Returns a function that cancels it. */
  countDown(ticks: number, callback: () => void): () => void {
    let left = ticks
    let cancel: (() => void) | undefined
    const turn = (): void => {
      // After the last tick, too, one more turn lets answers that have arrived come first.
      if (left-- > 0) cancel = this.#clock.after(this.tickMs, turn)
      else callback()
    }
    turn()
    return () => cancel?.()
  }

  arm(): void {
    if (this.#isArmed) return
    this.#isArmed = true
    this.#clock.after(this.tickMs, this.#turn)
  }

  readonly #turn = (): void => {
    this.#isArmed = false
    this.tick++
    this.onTick?.()
    if (this.#drives.some(({ oldest }) => oldest !== undefined)) this.arm()
  }
}

/** Whether the work ends within so many ticks. Rejects if it rejects within them. */
export async function isDoneIn(work: Promise<unknown>, watch: AnswerWatch, ticks: number): Promise<boolean> {
  let cancel: (() => void) | undefined
  const tooLate = new Promise<false>(resolve => {
    cancel = watch.countDown(ticks, () => resolve(false))
  })
  try {
    return await Promise.race([work.then(() => true), tooLate])
  } finally {
    cancel?.()
  }
}

/**
 * Waits for all of `work`, or for as many ticks as `ticksFor` allows once the results so far are enough (undefined: they are not).
 * Resolves with undefined in place of what is not done by then. Rejects when any of it rejects.
 */
export function waitForQuorum<T>(
  work: readonly Promise<T>[],
  watch: AnswerWatch,
  ticksFor: (done: readonly (T | undefined)[]) => number | undefined,
): Promise<readonly (T | undefined)[]> {
  return new Promise((resolve, reject) => {
    const done: (T | undefined)[] = work.map(() => undefined)
    let left = work.length
    let ticks = Number.POSITIVE_INFINITY
    let cancel: (() => void) | undefined
    const end = () => {
      cancel?.()
      resolve([...done])
    }
    const onDone = (index: number, result: T) => {
      done[index] = result
      if (--left === 0) {
        end()
        return
      }
      const fewer = ticksFor(done)
      if (fewer === undefined || fewer >= ticks) return
      ticks = fewer
      cancel?.()
      cancel = watch.countDown(ticks, end)
    }
    for (const [index, each] of work.entries()) {
      each.then(
        result => onDone(index, result),
        error => {
          cancel?.()
          reject(error)
        },
      )
    }
  })
}

export class DriveAnswers {
  readonly #watch: AnswerWatch
  /** In the order of the requests. */
  readonly #waiting = new Set<PendingAnswer>()
  /** Requests that were rejected by `suspend` or `rejectOlder`, and that the drive has not answered yet. */
  unansweredCount = 0
  isSuspended = false
  #error: unknown
  /** At the last answer of this drive: the newest request to any drive, and the tick. */
  answeredSerial = 0
  answeredTick = 0
  /** The request that is overdue compared with other drives, and since when; kept here for the detector. */
  overdue: PendingAnswer | undefined
  overdueSinceTick = 0

  constructor(watch: AnswerWatch) {
    this.#watch = watch
  }

  /** The oldest unanswered request. */
  get oldest(): PendingAnswer | undefined {
    for (const waiting of this.#waiting) return waiting
    return undefined
  }

  /** Why the drive is suspended. */
  get error(): unknown {
    return this.#error
  }

  /** Settles as the answer does, or rejects when the drive is suspended. `onLateAnswer` gets an answer that comes after that. */
  watch<T>(answer: Promise<T>, onLateAnswer?: (value: T) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const watch = this.#watch
      const waiting = { serial: ++watch.serial, sinceTick: watch.tick, reject }
      if (this.isSuspended) {
        this.unansweredCount++
        reject(this.#error)
      } else {
        this.#waiting.add(waiting)
        watch.arm()
      }
      answer.then(
        value => {
          if (this.#onAnswer(waiting)) resolve(value)
          else onLateAnswer?.(value)
        },
        error => {
          if (this.#onAnswer(waiting)) reject(error)
        },
      )
    })
  }

  #onAnswer(waiting: PendingAnswer): boolean {
    this.answeredSerial = this.#watch.serial
    this.answeredTick = this.#watch.tick
    if (this.#waiting.delete(waiting)) return true
    this.unansweredCount--
    return false
  }

  /** Rejects all unanswered requests, and all new ones until `resume`. */
  suspend(error: unknown): void {
    this.isSuspended = true
    this.#error = error
    this.#rejectSome(error, () => true)
  }

  /** Rejects requests that are unanswered for so many ticks; new requests are allowed. */
  rejectOlder(ticks: number, error: unknown): void {
    this.#rejectSome(error, ({ sinceTick }) => this.#watch.tick - sinceTick >= ticks)
  }

  #rejectSome(error: unknown, isWanted: (waiting: PendingAnswer) => boolean): void {
    for (const waiting of [...this.#waiting]) {
      if (!isWanted(waiting)) continue
      this.#waiting.delete(waiting)
      this.unansweredCount++
      waiting.reject(error)
    }
  }

  resume(): void {
    this.isSuspended = false
    this.#error = undefined
  }
}
