/** The extension point of the cache. */
import { Type } from 'typebox'

export const cachePoints = {
  'cache.tier': {
    cardinality: 'many',
    schema: Type.Object(
      { isConfigured: Type.Boolean(), create: Type.Function([], Type.Unknown()) },
      {
        description: 'A tier of the cache below the memory of the process: a folder, or a server for keys and values.',
      },
    ),
  },
} as const
