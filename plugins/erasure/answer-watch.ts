/**
 * What a thread waits for from the drives of a set. A drive that hangs gives no error: it is given up instead (`suspend`), which rejects
 * everything that it owes, so that whoever waits goes on as after an error. What it answers afterwards nobody hears.
 *
 * Time is counted in ticks, and only while something is waited for. A tick is a turn of the event loop that comes `tickMs` or more after
 * the one before: a process that was held up has one tick then and not many, and hears the answers that have come meanwhile before the next.
 */
import type { Clock } from 'svc/kernel'

export const defaultTickMs = 250

/** Something that was asked of a drive and has not been answered. */
export interface PendingAnswer {
  /** Of all that this thread has asked of the set's drives. */
  readonly serial: number
  readonly sinceTick: number
  reject(error: unknown): void
}

export class AnswerWatch {
  readonly #clock: Clock
  readonly tickMs: number
  readonly #drives: DriveAnswers[] = []
  #isArmed = false
  /** Grows while something is waited for. */
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

  /** Calls once after so many ticks. Returns the cancel function. */
  countDown(ticks: number, callback: () => void): () => void {
    let left = ticks
    let cancel: (() => void) | undefined
    const turn = (): void => {
      // Also the last tick leaves a turn to answers that have come.
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

/** Whether the work ends within so many ticks. Rejects as it does within these. */
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
 * Waits for all, but when what is done is enough for that not longer than so many ticks; undefined stands for what is not done then.
 * Rejects as the first that rejects.
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
  /** In the order in which it was asked. */
  readonly #waiting = new Set<PendingAnswer>()
  /** How much it still owes of what it was given up for. */
  unansweredCount = 0
  isSuspended = false
  #error: unknown
  /** The last thing that had been asked of any drive when this one answered last, and when that was. */
  answeredSerial = 0
  answeredTick = 0
  /** What it was found to be late with, compared with others, and since when. For who judges. */
  overdue: PendingAnswer | undefined
  overdueSinceTick = 0

  constructor(watch: AnswerWatch) {
    this.#watch = watch
  }

  /** What it has owed the longest. */
  get oldest(): PendingAnswer | undefined {
    for (const waiting of this.#waiting) return waiting
    return undefined
  }

  /** Why nothing is to be asked of it now. */
  get error(): unknown {
    return this.#error
  }

  /** Settles as the answer does, or rejects when the drive is given up; `onLateAnswer` is told of an answer that nobody waits for then. */
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

  /** Nothing that it owes is waited for any more, and nothing new until `resume`. */
  suspend(error: unknown): void {
    this.isSuspended = true
    this.#error = error
    this.#rejectSome(error, () => true)
  }

  /** The same for what it has owed for so many ticks; it may be asked for more. */
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
