import { keyNormalizationSetting } from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'

export const CacheConfig = Type.Object({
  keyNormalization: keyNormalizationSetting,
  memory: Type.Integer({
    variable: 'SVC_CACHE_MEMORY',
    format: 'size',
    default: 256 * 1024 * 1024,
    minimum: 1024 * 1024,
    description: 'Memory for cached answers of distributions, shared by the threads that serve.',
  }),
  mode: Type.Enum(['local', 'shared', 'shared+local'], {
    variable: 'SVC_CACHE_MODE',
    default: 'local',
    description:
      'Whether nodes have caches of their own, one together, or both. A deployment has one node yet, where all three are the same.',
  }),
})

export type CacheConfig = Static<typeof CacheConfig>
