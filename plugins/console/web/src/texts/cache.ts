/** Words of the pages of the cache, which the first load need not have. */
import * as pages from './en/cache-more.ts'
import { withShownNames } from './index.ts'

export const cacheTexts = withShownNames(pages)
