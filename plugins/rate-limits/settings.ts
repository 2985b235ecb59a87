/** The subsystem `ratelimit`. */
import type { Settings, SettingsService } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'

const rateMax = 1_000_000

const rate = (what: string) =>
  Type.Integer({
    default: 0,
    minimum: 0,
    maximum: rateMax,
    description: `${what} per second and node; 0 means no limit.`,
  })

const burst = (key: string) =>
  Type.Integer({
    default: 0,
    minimum: 0,
    maximum: rateMax,
    description: `How many at once, after a time without any; 0 is as many as ${key}.`,
  })

const RateLimitSettings = Type.Object({
  s3_ip: rate('S3 requests of a client address (an IPv6 network of 64 bits)'),
  s3_ip_burst: burst('s3_ip'),
  s3_access_key: rate('S3 requests with an access key (links count against address and bucket)'),
  s3_access_key_burst: burst('s3_access_key'),
  s3_bucket: rate('S3 requests to a bucket that its policies allow'),
  s3_bucket_burst: burst('s3_bucket'),
  admin_ip: rate('Requests of a client address to the Admin API'),
  admin_ip_burst: burst('admin_ip'),
  admin_user: rate('Requests of a user to the Admin API'),
  admin_user_burst: burst('admin_user'),
})
export type RateLimitSettings = Static<typeof RateLimitSettings>

export function declareRateLimits(settings: SettingsService): Settings<RateLimitSettings> {
  return settings.declare('ratelimit', {
    description:
      'How many requests each may send, from the next request on. Behind a balancer over several nodes each node counts alone.',
    keys: RateLimitSettings,
  })
}
