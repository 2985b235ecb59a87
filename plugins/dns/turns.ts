/** Serializes work by key: work with the same key runs one after the other, in the order of arrival. */
import { dnsErrors } from './errors.ts'

/** Maximum number of waiting callers, for all keys together. */
const waitingMax = 1000

export interface Turns {
  /** Settles as `work` does. Rejects with `too_many_requests` when too much waits. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>
}

export function createTurns(): Turns {
  const tails = new Map<string, Promise<unknown>>()
  let waiting = 0
  return {
    async run(key, work) {
      if (waiting >= waitingMax) throw dnsErrors.too_many_requests()
      waiting++
      const before = tails.get(key)
      const done = before === undefined ? work() : before.then(work)
      // The next one runs also if this one fails.
      const tail = done.then(
        () => {},
        () => {},
      )
      tails.set(key, tail)
      try {
        return await done
      } finally {
        waiting--
        if (tails.get(key) === tail) tails.delete(key)
      }
    },
  }
}
