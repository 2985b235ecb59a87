/** Words of the pages of the cache, which the first load need not have. */
import {
  cacheInspect,
  cachePolicies,
  cachePurge,
  cacheSettings,
  cacheStatistics,
  cacheWarmup,
} from './en/cache-more.ts'
import { withShownNames } from './index.ts'

export const cacheTexts = withShownNames({
  cacheInspect,
  cachePolicies,
  cachePurge,
  cacheSettings,
  cacheStatistics,
  cacheWarmup,
})
