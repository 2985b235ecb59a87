/** A value, or a promise of it: a hot path makes a promise only if it has to wait. */
export type MaybePromise<T> = T | Promise<T>

/**
 * Passes a value on: at once, or when its promise is resolved. For hot paths that avoid promises; everywhere else
 * `await` is simpler.
 */
export function chain<A, B>(value: MaybePromise<A>, next: (value: A) => MaybePromise<B>): MaybePromise<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}
