/** `x-amz-copy-source`: `bucket/key` or `/bucket/key`, percent-encoded, with an optional `?versionId=`. */
import { objectErrors } from 'svc/plugins/objects/api'
import type { S3Request } from './api.ts'
import { s3Errors } from './errors.ts'
import { decode, requireBucketName, requireKeyLength } from './target.ts'

export interface CopySource {
  readonly bucket: string
  readonly key: string
  readonly versionId: string | undefined
}

/** Throws InvalidArgument when the header does not name a bucket and a key. */
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

/** Some clients encode the whole value, the slash behind the bucket included. */
function separator(path: string): { at: number; length: number } | undefined {
  const encoded = path.search(/%2f/i)
  const plain = path.indexOf('/')
  if (plain === -1 && encoded === -1) return undefined
  return plain !== -1 && (encoded === -1 || plain < encoded) ? { at: plain, length: 1 } : { at: encoded, length: 3 }
}

function invalid(header: string) {
  return objectErrors.InvalidArgument('Copy Source must mention the source bucket and key: sourcebucket/sourcekey', {
    extra: { ArgumentName: 'x-amz-copy-source', ArgumentValue: header },
  })
}

/** The caller must be allowed to read what it copies. Throws AccessDenied. */
export function requireCopySource(request: S3Request, { bucket, key, versionId }: CopySource): void {
  const action = versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion'
  if (!request.isAllowed(action, bucket, key)) throw s3Errors.AccessDenied()
}
