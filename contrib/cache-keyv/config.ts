import { type Static, Type } from 'typebox'

export const CacheKeyvConfig = Type.Object({
  url: Type.Optional(
    Type.String({
      variable: 'SVC_CACHE_KEYV_URL',
      secret: true,
      description:
        'Where the adapter of keyv connects to, as it writes it: `redis://user:password@host:6379`, or `rediss://` for TLS.',
    }),
  ),
  adapter: Type.String({
    variable: 'SVC_CACHE_KEYV_ADAPTER',
    default: '@keyv/redis',
    description:
      'Package with an adapter of keyv 5 as its default export. Others than that of Redis have to be installed.',
  }),
  size: Type.Integer({
    variable: 'SVC_CACHE_KEYV_SIZE',
    format: 'size',
    default: 1024 ** 3,
    minimum: 16 * 1024 * 1024,
    description: 'Space that the records of this process may take there.',
  }),
  valueSize: Type.Integer({
    variable: 'SVC_CACHE_KEYV_VALUE_SIZE',
    format: 'size',
    default: 2 * 1024 * 1024,
    minimum: 64 * 1024,
    description: 'Larger values are not sent. A block of 1 MiB makes one of 1.4 MiB.',
  }),
  ttl: Type.Integer({
    variable: 'SVC_CACHE_KEYV_TTL',
    format: 'duration',
    default: 24 * 3_600_000,
    minimum: 1000,
    description: 'After which records leave by themselves, so that nothing of a process that is gone stays.',
  }),
})

export type CacheKeyvConfig = Static<typeof CacheKeyvConfig>
