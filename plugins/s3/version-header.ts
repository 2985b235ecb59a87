import { chain, type MaybePromise } from 'svc/kernel'
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { S3Request } from './api.ts'

/**
 * The version id in an answer. The null version is shown if the bucket has, or had, versioning, and if the request has its id; undefined
 * otherwise.
 */
export function shownVersionId(
  { bucket, query }: S3Request,
  objects: Pick<ObjectsService, 'getBucket'>,
  versionId: string,
): MaybePromise<string | undefined> {
  if (versionId !== 'null' || query.has('versionId')) return versionId
  return chain(objects.getBucket(bucket), ({ versioning }) => (versioning === 'off' ? undefined : versionId))
}

/** The version id in the answer to a write: AWS does not return that of the null version there. */
export function writtenVersionId(versionId: string | undefined): string | undefined {
  return versionId === 'null' ? undefined : versionId
}

/** `x-amz-version-id` of an answer, as its headers. */
export async function versionHeader(
  request: S3Request,
  objects: Pick<ObjectsService, 'getBucket'>,
  versionId: string,
): Promise<Record<string, string | undefined>> {
  return { 'x-amz-version-id': await shownVersionId(request, objects, versionId) }
}
