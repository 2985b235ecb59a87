import { Type } from 'typebox'

export const LockConfig = Type.Object({
  staleAfterMs: Type.Integer({
    minimum: 1000,
    maximum: 3_600_000,
    default: 60_000,
    format: 'duration',
    variable: 'SVC_LOCK_STALE_AFTER',
    description: 'A lock that its holder has not renewed for so long is released.',
  }),
  refreshMs: Type.Integer({
    minimum: 100,
    maximum: 600_000,
    default: 10_000,
    format: 'duration',
    variable: 'SVC_LOCK_REFRESH_INTERVAL',
    description: 'How often a holder renews its lock; at most half of SVC_LOCK_STALE_AFTER.',
  }),
})
