/** Waits for what comes to pass by itself. */
import { setTimeout as wait } from 'node:timers/promises'

/** Long enough for a machine that is busy with many tests. */
const withinMsDefault = 120_000
const pauseMsMin = 5
const pauseMsMax = 100

/** Repeats `ask` until its answer satisfies the condition; after `withinMs` it throws with the last answer. */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  isRight: (answer: T) => boolean,
  withinMs = withinMsDefault,
): Promise<T> {
  return repeat(ask, isRight, withinMs, answer => `it was last ${JSON.stringify(answer)}`)
}

export interface UntilOptions {
  /** Names the condition in the error; default: its source text. */
  readonly what?: string
  readonly withinMs?: number | undefined
}

/** Repeats the condition until it is true; after `withinMs` it throws. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  { what = String(condition), withinMs = withinMsDefault }: UntilOptions = {},
): Promise<void> {
  await repeat(
    condition,
    isTrue => isTrue,
    withinMs,
    () => what,
  )
}

async function repeat<T>(
  ask: () => Promise<T> | T,
  isRight: (answer: T) => boolean,
  withinMs: number,
  describe: (answer: T) => string,
): Promise<T> {
  const deadlineMs = performance.now() + withinMs
  for (let pauseMs = pauseMsMin; ; pauseMs = Math.min(pauseMs * 1.5, pauseMsMax)) {
    const answer = await ask()
    if (isRight(answer)) return answer
    if (performance.now() > deadlineMs) throw new Error(`not within ${withinMs} ms: ${describe(answer)}`)
    await wait(pauseMs)
  }
}
