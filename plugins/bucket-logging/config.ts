import { type Static, Type } from 'typebox'

export const BucketLoggingConfig = Type.Object({
  intervalMs: Type.Integer({
    format: 'duration',
    minimum: 100,
    maximum: 86_400_000,
    default: 300_000,
    variable: 'SVC_BUCKET_LOGGING_INTERVAL',
    description: 'How often access logs of buckets are written as objects into their target buckets.',
  }),
})

export type BucketLoggingConfig = Static<typeof BucketLoggingConfig>
