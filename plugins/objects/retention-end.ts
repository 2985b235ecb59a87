/** The end of a retention. Where a stored one is no time at all the version stays locked: the lock must never fail open. */

/** 9999-12-31T23:59:59Z, the last second that S3 clients can read. */
export const foreverMs = Date.UTC(9999, 11, 31, 23, 59, 59)

/** `stored` may be anything that a record has there; what is no finite number, or lies behind the last second, is for ever. */
export function endOfRetention(stored: number | null): number {
  return stored !== null && Number.isFinite(stored) && stored < foreverMs ? stored : foreverMs
}
