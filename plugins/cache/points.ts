/** The extension points of the cache. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const cachePoints = {
  'cache.invalidation': {
    cardinality: 'many',
    schema: Type.Object(
      { wants: method, changed: method, requested: method },
      { description: 'Tells invalidations to caches in front of this server.' },
    ),
  },
  'cache.site': {
    cardinality: 'many',
    schema: Type.Object(
      { inspect: method, warm: method },
      { description: 'A mode of distributions that answers through the cache.' },
    ),
  },
  'cache.webhook': {
    cardinality: 'one',
    schema: Type.Object(
      { webhooks: method, prepare: method, queued: method },
      { description: 'Keeps the webhooks of caches in front of this server, as distributions have them.' },
    ),
  },
  'cache.tier': {
    cardinality: 'many',
    schema: Type.Object(
      { isConfigured: Type.Boolean(), budgetBytes: Type.Number(), create: Type.Function([], Type.Unknown()) },
      {
        description: 'A tier of the cache below the memory of the process: a folder, or a server for keys and values.',
      },
    ),
  },
} as const
