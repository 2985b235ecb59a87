/** Words by which the search finds something, which the first load need not have. */
import * as more from './en/search-more.ts'
import { withShownNames } from './index.ts'

export const searchTexts = withShownNames(more)
