import { type Static, Type } from 'typebox'
import type { WarmupFacts } from '../warm/warmups.ts'

const strict = { additionalProperties: false } as const
const Time = Type.String({ format: 'date-time' })

export const WarmupRequest = Type.Object(
  {
    paths: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), { maxItems: 1000 })),
    patterns: Type.Optional(
      Type.Array(
        Type.Object(
          { type: Type.Enum(['prefix', 'glob']), pattern: Type.String({ minLength: 1, maxLength: 1024 }) },
          strict,
        ),
        { maxItems: 100, description: 'Of paths; they stand for the objects of the bucket that match.' },
      ),
    ),
    sitemap: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1024, description: 'Path of an XML sitemap in the distribution.' }),
    ),
    domains: Type.Optional(
      Type.Array(Type.String({ maxLength: 255 }), { maxItems: 100, description: 'Default: every exact alias.' }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String({ maxLength: 128 }), Type.String({ maxLength: 1024 }), {
        maxProperties: 20,
        description: 'Of the requests, where answers vary by them.',
      }),
    ),
    maxObjects: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, description: 'Default 1000.' })),
    concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 32, description: 'Default 4.' })),
  },
  { ...strict, $id: 'WarmupRequest' },
)

const Count = Type.Integer({ minimum: 0 })

export const Warmup = Type.Object(
  {
    id: Type.String(),
    distribution: Type.String(),
    request: WarmupRequest,
    state: Type.Enum(['in-progress', 'completed', 'failed', 'aborted']),
    createdAt: Time,
    finishedAt: Type.Optional(Time),
    total: Count,
    fetched: Count,
    hits: Type.Integer({ minimum: 0, description: 'That were in the cache already.' }),
    skipped: Type.Integer({ minimum: 0, description: 'That are not for the cache.' }),
    failed: Count,
    bytes: Count,
    errors: Type.Array(Type.Object({ url: Type.String(), status: Type.Integer(), message: Type.String() }), {
      description: 'The first 100.',
    }),
    nodes: Type.Array(Type.Object({ node: Type.String(), state: Type.String(), fetched: Count, failed: Count })),
  },
  { $id: 'Warmup' },
)

export function describeWarmup({ createdMs, finishedMs, ...facts }: WarmupFacts): Static<typeof Warmup> {
  return {
    ...facts,
    createdAt: new Date(createdMs).toISOString(),
    ...(finishedMs !== undefined && { finishedAt: new Date(finishedMs).toISOString() }),
  } as Static<typeof Warmup>
}
