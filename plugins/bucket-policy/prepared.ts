/**
 * Answers at once from what was asked for before. In the main thread everything can be known without waiting; in a worker,
 * what was just changed has to be fetched, and the engine does not wait.
 */

import type { MaybePromise } from 'svc/kernel'
import type { BucketPolicies } from 'svc/plugins/policy/api'

/** More than there are requests under way in one thread. What is forgotten meanwhile is denied once. */
const preparedMax = 4096

/** The answer to the latest question that was answered. */
interface Answer {
  /** Of the question: they are numbered in the order in which they were asked. */
  number: number
  policies: BucketPolicies | undefined
}

export interface Prepared {
  /** For `PolicySource`: a promise only where something has to be waited for. */
  prepare(bucket: string): MaybePromise<void>
  /** Never older than the last `prepare` that has ended. Where there was none and it would have to wait, `otherwise`. */
  get(bucket: string): BucketPolicies | undefined
}

export function createPrepared(
  find: (bucket: string) => MaybePromise<BucketPolicies | undefined>,
  otherwise: () => BucketPolicies,
): Prepared {
  const answers = new Map<string, Answer>()
  let count = 0

  function remember(bucket: string, number: number, policies: BucketPolicies | undefined): void {
    const known = answers.get(bucket)
    if (known !== undefined) {
      // Answers may overtake each other; an older question must not have the last word.
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
        // The drive cannot be read: `prepare` has told the request, or the next one will hear of it.
        return otherwise()
      }
      if (!(found instanceof Promise)) return found
      found.catch(() => {
        // As above. What the promise brings is for the next request.
      })
      const known = answers.get(bucket)
      return known === undefined ? otherwise() : known.policies
    },
  }
}
