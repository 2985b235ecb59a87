/** Waiting only where there is something to wait for: in the main thread, and of what a thread remembers, nothing ever is. */
import type { MaybePromise } from 'svc/kernel'

export function then<A, B>(value: MaybePromise<A>, next: (value: A) => MaybePromise<B>): MaybePromise<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}

export function all<T>(values: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> {
  return values.some(value => value instanceof Promise) ? Promise.all(values) : (values as readonly T[])
}
