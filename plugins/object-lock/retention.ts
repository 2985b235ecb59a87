/** Parses modes and times of retention in requests. */
import { type Bucket, objectErrors, type RetentionMode } from 'svc/plugins/objects/api'
import { objectLockErrors } from './errors.ts'

const periodMax = { days: 36_500, years: 100 } as const

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** Milliseconds since 1970 of a time in ISO 8601; undefined for other text. */
export function parseTime(text: string): number | undefined {
  const timeMs = time.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(timeMs) ? undefined : timeMs
}

export function requireMode(text: string | undefined, refusal: () => Error): RetentionMode {
  if (text === 'GOVERNANCE' || text === 'COMPLIANCE') return text
  throw refusal()
}

/** Throws InvalidRequest if a bucket has no object lock. */
export function requireLockBucket({ objectLock }: Bucket): void {
  if (objectLock === undefined) throw objectErrors.InvalidRequest('Bucket is missing Object Lock Configuration')
}

/** The period of a default retention. Throws InvalidRetentionPeriod. */
export function requirePeriod(unit: 'days' | 'years', period: number): number {
  if (period < 1) throw objectLockErrors.InvalidRetentionPeriod()
  if (period > periodMax[unit]) {
    throw objectLockErrors.InvalidRetentionPeriod(`Default retention period must be at most ${periodMax[unit]}.`)
  }
  return period
}
