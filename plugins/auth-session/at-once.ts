import type { MaybePromise } from 'svc/kernel'

/** Identity answers without a promise in the main thread, where all sessions are: no guess can slip past while one waits. */
export function atOnce<T>(value: MaybePromise<T>): T {
  if (value instanceof Promise) throw new Error('sessions live in the main thread, where nobody waits for identities')
  return value
}
