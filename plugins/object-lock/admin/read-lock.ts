import { type ObjectLock, type ObjectsService, onDeleteMarker } from 'svc/plugins/objects/api'
import { requireLockBucket } from '../retention.ts'

/** The lock of a version. Throws InvalidRequest where the bucket knows no locks, and what `getObject` throws. */
export async function readLock(
  objects: ObjectsService,
  { bucket, key, versionId }: { readonly bucket: string; readonly key: string; readonly versionId?: string },
): Promise<ObjectLock | undefined> {
  requireLockBucket(await objects.getBucket(bucket))
  const version = await objects.getObject(bucket, key, versionId)
  if (version.isDeleteMarker) throw onDeleteMarker(version.versionId)
  return version.lock
}
