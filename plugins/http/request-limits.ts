/**
 * Limits on requests: how many a client, an access key, a bucket or a user may send per second. The service comes from the plugin
 * `rate-limits`; the protocols of `http` ask it.
 */
import type { MaybePromise } from 'svc/kernel'

/** A key of the settings `ratelimit`. */
export type RateLimitName = 's3_ip' | 's3_access_key' | 's3_bucket' | 'admin_ip' | 'admin_user'

/** Which limit refused a request: in the tag `throttled` of its audit record, in its trace line, and in the metric. */
export type ThrottleKind = 'ip' | 'user' | 'bucket' | 'concurrency'

export interface Refusal {
  readonly kind: ThrottleKind
  /** Until a token is there: at least 1. */
  readonly retryAfterSeconds: number
}

export interface RateLimitsService {
  /**
   * Takes a token of one client, key, bucket or user. Undefined where it may go on, which is always so where no limit is set. A promise
   * only where the settings have to be read.
   */
  take(limit: RateLimitName, name: string): MaybePromise<Refusal | undefined>
}

/** What an error about a refusal carries: how long to wait for the client, by which limit for the audit record. */
export function refusalDetails({ kind, retryAfterSeconds }: Refusal) {
  return { extra: { 'retry-after': String(retryAfterSeconds) }, tags: { throttled: kind } }
}

/** The family that each API counts its refusals in, by the tag of their errors. */
export const throttledFamily = {
  name: 'svc_ratelimit_throttled_total',
  help: 'Requests refused by a limit on requests.',
  labels: ['api', 'kind'],
} as const

declare module 'svc/kernel' {
  interface Services {
    rateLimits: RateLimitsService
  }
}
