/** Words of the deletion of a bucket, which the first load need not have. */
import { deleteBucket } from './en/delete-bucket.ts'
import { withShownNames } from './index.ts'

export const deleteBucketTexts = withShownNames(deleteBucket)
