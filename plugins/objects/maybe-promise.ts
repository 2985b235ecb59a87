import type { MaybePromise } from 'svc/kernel'

/**
 * `then` for values that may be promises. A synchronous value continues at once, so a GET served from memory takes no turn of the
 * event loop.
 */
export function then<A, B>(value: MaybePromise<A>, next: (value: A) => MaybePromise<B>): MaybePromise<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}
