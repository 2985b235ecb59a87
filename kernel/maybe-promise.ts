/** A value, or a promise of it where it has to be waited for: a hot path makes no promise that nobody needs. */
export type MaybePromise<T> = T | Promise<T>

/**
 * Passes a value on: at once, or when its promise is resolved. For hot paths that must not make a promise nobody needs; everywhere else
 * `await` is simpler.
 */
export function chain<A, B>(value: MaybePromise<A>, next: (value: A) => MaybePromise<B>): MaybePromise<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}
