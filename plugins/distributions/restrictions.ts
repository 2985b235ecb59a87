/**
 * Refuses requests before any other check: by address, by a missing secret of the proxy in front, by the rate limit. In this
 * order, so that a refused request takes no token.
 */
import type { Clock } from 'svc/kernel'
import type { Exchange, RateLimitsService } from 'svc/plugins/http/api'
import { type AddressList, compileAddresses } from './address-list.ts'
import type { DistributionRefusal } from './api.ts'
import type { Distribution } from './document.ts'
import { hasSecret, type ResolveSecret } from './origin-secret.ts'

export interface Restrictions {
  /** Undefined: go on. Takes a token of the rate limit, unless it is a `test`. The origin secret is gone from the headers afterwards. */
  refusal(exchange: Exchange, test?: { readonly nowMs: number }): DistributionRefusal | undefined
}

export interface RestrictionServices {
  readonly clock: Clock
  readonly rateLimits: Pick<RateLimitsService, 'limiter'> | undefined
  readonly resolveSecret: ResolveSecret
}

const refused = (reason: string): DistributionRefusal => ({ status: 403, reason })

export function compileRestrictions(
  { id, enabled, restrictions }: Distribution,
  { clock, rateLimits, resolveSecret }: RestrictionServices,
): Restrictions {
  const { sourceIp = {}, originSecretHeader, rateLimit } = restrictions
  const deny = listOf(sourceIp.deny)
  const allow = listOf(sourceIp.allow)
  const per = rateLimit?.per ?? 'ip'
  const take =
    rateLimit &&
    rateLimits?.limiter({
      owner: `distribution/${id}`,
      kind: per,
      perSecond: rateLimit.requestsPerSecond,
      burst: rateLimit.burst ?? rateLimit.requestsPerSecond,
    })
  return {
    refusal({ clientAddress, request: { headers } }, test) {
      if (!enabled) return refused('disabled')
      if (deny?.(clientAddress) || allow?.(clientAddress) === false) return refused('source_ip')
      if (originSecretHeader !== undefined) {
        const given = headers[originSecretHeader.name] as string | undefined
        delete headers[originSecretHeader.name]
        if (!hasSecret(given, originSecretHeader, test?.nowMs ?? clock.now(), resolveSecret))
          return refused('origin_secret')
      }
      if (test !== undefined) return undefined
      const throttled = take?.(per === 'ip' ? clientAddress : '')
      if (throttled === undefined) return undefined
      return { status: 429, reason: 'rate_limit', retryAfterSeconds: throttled.retryAfterSeconds }
    },
  }
}

function listOf(blocks: readonly string[] | undefined): AddressList | undefined {
  return blocks === undefined || blocks.length === 0 ? undefined : compileAddresses(blocks)
}
