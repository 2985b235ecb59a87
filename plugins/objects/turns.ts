/** Gives others their turn within a loop that decides on many items: a policy may take milliseconds for each. */
import { setImmediate } from 'node:timers/promises'

const turnMs = 10

class Turns {
  #endMs = performance.now() + turnMs

  /** To be awaited, where there is anything: this turn has taken long enough. */
  pause(): Promise<void> | undefined {
    return performance.now() < this.#endMs ? undefined : this.#next()
  }

  async #next(): Promise<void> {
    await setImmediate()
    this.#endMs = performance.now() + turnMs
  }
}

/** As `items.forEach`. */
export async function eachInTurns<Item>(items: readonly Item[], work: (item: Item) => void): Promise<void> {
  await mapInTurns(items, work)
}

/** As `items.map`. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<readonly Result[]> {
  const turns = new Turns()
  const results: Result[] = []
  for (const item of items) {
    const pause = turns.pause()
    if (pause !== undefined) await pause
    results.push(map(item))
  }
  return results
}

/** As `items.some`. */
export async function someInTurns<Item>(items: readonly Item[], test: (item: Item) => boolean): Promise<boolean> {
  const turns = new Turns()
  for (const item of items) {
    const pause = turns.pause()
    if (pause !== undefined) await pause
    if (test(item)) return true
  }
  return false
}
