/** Waits for what comes to pass by itself. */
import { setTimeout as wait } from 'node:timers/promises'

/** Repeats `ask` until its answer satisfies the condition; after `withinMs` it throws with the last answer. */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  isRight: (answer: T) => boolean,
  withinMs = 60_000,
): Promise<T> {
  const deadlineMs = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (isRight(answer)) return answer
    if (performance.now() > deadlineMs) {
      throw new Error(`not within ${withinMs} ms; it was last ${JSON.stringify(answer)}`)
    }
    await wait(100)
  }
}
