/** A value, or a promise of it where it has to be waited for: a hot path makes no promise that nobody needs. */
export type MaybePromise<T> = T | Promise<T>
