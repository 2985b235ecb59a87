/** `x-amz-copy-source`: `bucket/key` or `/bucket/key`, percent-encoded, with an optional `?versionId=`. */
import { isCatalogError } from 'svc/kernel'
import { type ObjectsService, type ObjectVersion, objectErrors, requireKeyLength } from 'svc/plugins/objects/api'
import type { S3Request } from './api.ts'
import { requireOwner } from './bucket-owner.ts'
import { checkCopyConditions } from './conditions.ts'
import { s3Errors } from './errors.ts'
import { decode, requireBucketName } from './target.ts'

export interface CopySource {
  readonly bucket: string
  readonly key: string
  readonly versionId: string | undefined
}

/** Throws InvalidArgument if the header does not name a bucket and a key. */
export function readCopySource(request: S3Request): CopySource {
  const header = String(request.headers['x-amz-copy-source'])
  const mark = header.indexOf('?versionId=')
  const path = (mark === -1 ? header : header.slice(0, mark)).replace(/^\//, '')
  const slash = separator(path)
  if (slash === undefined || slash.at === 0 || slash.at + slash.length >= path.length) throw invalid(header)
  const bucket = decode(path.slice(0, slash.at))
  const key = request.normalizeKey(decode(path.slice(slash.at + slash.length)))
  requireBucketName(bucket)
  requireKeyLength(key)
  const versionId = mark === -1 ? undefined : decode(header.slice(mark + '?versionId='.length))
  if (versionId === '') throw invalid(header)
  return { bucket, key, versionId }
}

/** Some clients encode the whole value, including the slash after the bucket. */
function separator(path: string): { at: number; length: number } | undefined {
  const encoded = path.search(/%2f/i)
  const plain = path.indexOf('/')
  if (plain === -1 && encoded === -1) return undefined
  return plain !== -1 && (encoded === -1 || plain < encoded) ? { at: plain, length: 1 } : { at: encoded, length: 3 }
}

/** Undefined if there is none, or an invalid one. */
export function peekCopySource(request: S3Request): CopySource | undefined {
  if (request.headers['x-amz-copy-source'] === undefined) return undefined
  try {
    return readCopySource(request)
  } catch {
    // The operation itself reports the problem.
    return undefined
  }
}

function invalid(header: string) {
  return objectErrors.InvalidArgument('Copy Source must mention the source bucket and key: sourcebucket/sourcekey', {
    extra: { ArgumentName: 'x-amz-copy-source', ArgumentValue: header },
  })
}

/**
 * The version to be copied. Throws AccessDenied if the caller may not read it or its bucket has another owner, and the error for a source
 * that does not exist, is a delete marker, or does not fulfil the conditions.
 */
export async function readSourceVersion(
  request: S3Request,
  objects: ObjectsService,
  from: CopySource,
): Promise<ObjectVersion> {
  const { bucket, key, versionId } = from
  const action = versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion'
  if (!request.isAllowed(action, bucket, key, versionId)) throw s3Errors.AccessDenied()
  const expectedOwner = request.headers['x-amz-source-expected-bucket-owner'] as string | undefined
  if (expectedOwner !== undefined) requireOwner(expectedOwner, await objects.getBucket(bucket))
  const source = await findSource(objects, from)
  if (source.isDeleteMarker) {
    if (versionId === undefined) throw noSuchSource(from)
    throw objectErrors.InvalidRequest(
      'The source of a copy request may not specifically refer to a delete marker by version id.',
    )
  }
  request.requireAcl(source, versionId)
  checkCopyConditions(request.headers, source)
  return source
}

async function findSource(objects: ObjectsService, from: CopySource): Promise<ObjectVersion> {
  try {
    return await objects.getObject(from.bucket, from.key, from.versionId)
  } catch (error) {
    throw isCatalogError(error) && error.code === 'NoSuchKey' ? noSuchSource(from) : error
  }
}

/** With the bucket, because the caller's permissions in that bucket determine whether the error may be revealed. */
function noSuchSource({ bucket, key }: CopySource): Error {
  return objectErrors.NoSuchKey(undefined, { extra: { Key: key, BucketName: bucket } })
}
