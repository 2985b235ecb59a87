/**
 * Caches the policies that `prepare` has read, because the policy engine decides synchronously. The main thread can read every policy
 * without waiting; a worker has to ask the storage thread for a policy that was just changed.
 */

import type { MaybePromise } from 'svc/kernel'

/** More than the concurrent requests of a thread. A request whose policy was evicted is denied. */
const preparedMax = 4096

/** The most recent result for a bucket. */
interface Answer<Found> {
  /** The number of the read that gave it, in the order in which reads began. */
  number: number
  policies: Found | undefined
}

export interface Prepared<Found> {
  /** For `PolicySource`: returns a promise only if it has to wait. */
  prepare(bucket: string): MaybePromise<void>
  /** The policies, never older than the last `prepare` that has ended. If none has and reading would wait: `otherwise`. */
  get(bucket: string): Found | undefined
}

export function createPrepared<Found>(
  find: (bucket: string) => MaybePromise<Found | undefined>,
  otherwise: () => Found | undefined,
): Prepared<Found> {
  const answers = new Map<string, Answer<Found>>()
  let count = 0

  function remember(bucket: string, number: number, policies: Found | undefined): void {
    const known = answers.get(bucket)
    if (known !== undefined) {
      // Reads may end out of order: the result of an older one must not replace that of a newer one.
      if (number < known.number) return
      known.number = number
      known.policies = policies
      return
    }
    if (answers.size === preparedMax) answers.delete(answers.keys().next().value!)
    answers.set(bucket, { number, policies })
  }

  return {
    prepare(bucket) {
      const number = ++count
      const found = find(bucket)
      if (found instanceof Promise) return found.then(policies => remember(bucket, number, policies))
      remember(bucket, number, found)
    },
    get(bucket) {
      let found: ReturnType<typeof find>
      try {
        found = find(bucket)
      } catch {
        // The drive cannot be read: `prepare` has failed for this request, or will for the next one.
        return otherwise()
      }
      if (!(found instanceof Promise)) return found
      found.catch(() => {
        // As above. The result of the promise is for the next request.
      })
      const known = answers.get(bucket)
      return known === undefined ? otherwise() : known.policies
    },
  }
}
