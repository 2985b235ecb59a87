import { type ObjectLock, type ObjectsService, onDeleteMarker } from 'svc/plugins/objects/api'
import { requireLockBucket } from '../retention.ts'

/** The lock of a version. Throws InvalidRequest if the bucket has no object lock, and the errors of `getObject`. */
export async function readLock(
  objects: ObjectsService,
  { bucket, key, versionId }: { readonly bucket: string; readonly key: string; readonly versionId?: string },
): Promise<ObjectLock | undefined> {
  requireLockBucket(await objects.getBucket(bucket))
  const version = await objects.getObject(bucket, key, versionId)
  if (version.isDeleteMarker) throw onDeleteMarker(version.versionId)
  return version.lock
}
