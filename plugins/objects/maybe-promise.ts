import type { MaybePromise } from 'svc/kernel'

/** Continues at once where there is nothing to wait for: a GET that finds all in memory takes no turn of the event loop. */
export function then<A, B>(value: MaybePromise<A>, next: (value: A) => MaybePromise<B>): MaybePromise<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}
