/** The ETag of the content of a bucket, for a deletion that is about what somebody has seen. */
import { createHash } from 'node:crypto'
import type { Bucket, BucketUsage } from 'svc/plugins/objects/api'

/**
 * 32 hexadecimal digits. It changes with the numbers of versions and delete markers, with their size, and with a new bucket of the same
 * name. It is the same after an object was replaced by one of the same size: finding that would take a look at every version.
 */
export function contentEtagOf({ createdMs }: Bucket, { versions, deleteMarkers, sizeBytes }: BucketUsage): string {
  const seen = JSON.stringify([createdMs, versions, deleteMarkers, sizeBytes])
  return createHash('sha256').update(seen).digest('hex').slice(0, 32)
}
