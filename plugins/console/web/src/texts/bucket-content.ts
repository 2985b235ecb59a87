/** Words of what is in a bucket, which the first load need not have. */
import * as content from './en/bucket-content.ts'
import { withShownNames } from './index.ts'

export const bucketContent = withShownNames(content)
