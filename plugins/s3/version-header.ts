import type { MaybePromise } from 'svc/kernel'
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { S3Request } from './api.ts'

/**
 * The version id that an answer names. The null version is named where the bucket keeps versions, or did, and to those who asked for it
 * by its id; undefined otherwise.
 */
export function shownVersionId(
  { bucket, query }: S3Request,
  objects: Pick<ObjectsService, 'getBucket'>,
  versionId: string,
): MaybePromise<string | undefined> {
  if (versionId !== 'null' || query.has('versionId')) return versionId
  const found = objects.getBucket(bucket)
  if (found instanceof Promise) return found.then(({ versioning }) => (versioning === 'off' ? undefined : versionId))
  return found.versioning === 'off' ? undefined : versionId
}

/** `x-amz-version-id` of an answer, as its headers. */
export async function versionHeader(
  request: S3Request,
  objects: Pick<ObjectsService, 'getBucket'>,
  versionId: string,
): Promise<Record<string, string | undefined>> {
  return { 'x-amz-version-id': await shownVersionId(request, objects, versionId) }
}
