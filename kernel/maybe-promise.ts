/** A value, or a promise of it: a hot path makes a promise only if it has to wait. */
export type MaybePromise<T> = T | Promise<T>

/**
 * Passes a value on: at once, or when its promise is resolved. For hot paths that avoid promises; everywhere else
 * `await` is simpler.
 */
export function chain<A, B>(value: MaybePromise<A>, next: (value: A) => MaybePromise<B>): MaybePromise<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** The outcome of `work`, or of `recover` if it throws or rejects: without a promise as long as nothing has to be waited for. */
export function rescue<A, B>(
  work: () => MaybePromise<A>,
  recover: (error: unknown) => MaybePromise<B>,
): MaybePromise<A | B> {
  try {
    const done = work()
    return done instanceof Promise ? done.catch(recover) : done
  } catch (error) {
    return recover(error)
  }
}

/** What `work` returns, without another promise around it; a rejection where it throws. */
export function promised<T>(work: () => Promise<T>): Promise<T> {
  try {
    return work()
  } catch (error) {
    return Promise.reject(error)
  }
}
