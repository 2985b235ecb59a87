/** The ETag of the content of a bucket, for a deletion that is about what somebody has seen. */
import { createHash } from 'node:crypto'
import type { Bucket, BucketUsage } from 'svc/plugins/objects/api'

/**
 * 32 hexadecimal digits. It changes with the numbers of versions, delete markers and uploads that are not completed, with their sizes, and with
 * a new bucket of the same name. It is the same after an object was replaced by one of the same size: finding that would take a look at every version.
 */
export function contentEtagOf({ createdMs }: Bucket, usage: BucketUsage): string {
  const { versions, deleteMarkers, sizeBytes, uploads, uploadBytes } = usage
  const seen = JSON.stringify([createdMs, versions, deleteMarkers, sizeBytes, uploads, uploadBytes])
  return createHash('sha256').update(seen).digest('hex').slice(0, 32)
}
