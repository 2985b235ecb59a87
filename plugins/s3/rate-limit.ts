/** The limits of `ratelimit` for S3 requests. */
import type { MaybePromise } from 'svc/kernel'
import { type RateLimitName, type RateLimitsService, type Refusal, refusalDetails } from 'svc/plugins/http/api'
import { s3Errors } from './errors.ts'

/** Throws, or rejects with, SlowDown if a limit is reached. */
export function spendToken(
  rateLimits: RateLimitsService | undefined,
  limit: RateLimitName,
  name: string,
): MaybePromise<void> {
  const refusal = rateLimits?.take(limit, name)
  if (refusal === undefined) return
  if (refusal instanceof Promise) return refusal.then(refuse)
  refuse(refusal)
}

function refuse(refusal: Refusal | undefined): void {
  if (refusal !== undefined) throw s3Errors.SlowDown(undefined, refusalDetails(refusal))
}
