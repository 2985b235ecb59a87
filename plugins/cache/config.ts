import { type Static, Type } from 'typebox'

export const CacheConfig = Type.Object({
  memory: Type.Integer({
    variable: 'SVC_CACHE_MEMORY',
    format: 'size',
    default: 256 * 1024 * 1024,
    minimum: 1024 * 1024,
    description:
      'Memory for cached answers, shared by the threads that serve. Plugins can serve through the cache; websites do not yet.',
  }),
})

export type CacheConfig = Static<typeof CacheConfig>
