/**
 * Limits on requests per second by client, access key, bucket and user. The plugin `rate-limits` provides the service; the protocols of
 * `http` call it.
 */
import type { MaybePromise } from 'svc/kernel'

/** A key of the settings `ratelimit`. */
export type RateLimitName = 's3_ip' | 's3_access_key' | 's3_bucket' | 'admin_ip' | 'admin_user'

/** Which limit refused a request: in the tag `throttled` of its audit record, in its trace line, and in the metric. */
export type ThrottleKind = 'ip' | 'user' | 'bucket' | 'concurrency' | 'distribution'

export interface Refusal {
  readonly kind: ThrottleKind
  /** Time until a token is available: at least 1. */
  readonly retryAfterSeconds: number
}

export interface CustomLimit {
  readonly owner: string
  readonly kind: ThrottleKind
  readonly perSecond: number
  /** At least 1. */
  readonly burst: number
}

export interface RateLimitsService {
  /**
   * Takes a token of one client, key, bucket or user. Undefined if the request may continue, as always without a limit. Returns a promise
   * only if the settings have to be read.
   */
  take(limit: RateLimitName, name: string): MaybePromise<Refusal | undefined>
  /**
   * A limit that is no setting, in the same memory: one count for all threads. `owner` tells limits apart; of the kind `ip` the names are
   * addresses.
   */
  limiter(limit: CustomLimit): (name: string) => Refusal | undefined
}

/** Details of the error for a refusal: the time to wait for the client, the limit for the audit record. */
export function refusalDetails({ kind, retryAfterSeconds }: Refusal) {
  return { extra: { 'retry-after': String(retryAfterSeconds) }, tags: { throttled: kind } }
}

/** The metric in which each API counts its refusals, by the tag of their errors. */
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
