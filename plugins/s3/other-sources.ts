/** What a request reads beside the object that it is for: the source of a copy or of a rename. */
import type { S3Request } from './api.ts'
import { type CopySource, peekCopySource } from './copy-source.ts'
import { peekRenameSource } from './rename-source.ts'

export interface OtherSource extends CopySource {
  /** What the caller needs on it. */
  readonly actions: readonly string[]
  /** Its tags are written with the object, though the request does not name them. */
  readonly carriesTags: boolean
}

/** Undefined where there is none, or none that could be read: the operation itself says what is wrong with it. */
export function otherSourceOf(request: S3Request): OtherSource | undefined {
  const copied = peekCopySource(request)
  if (copied !== undefined) {
    // A part has no tags: those of the upload were named when it was begun.
    const carriesTags = !request.query.has('uploadId') && request.headers['x-amz-tagging-directive'] !== 'REPLACE'
    const actions = [copied.versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion']
    return { ...copied, actions, carriesTags }
  }
  const key = peekRenameSource(request)
  if (key === undefined) return undefined
  const actions = ['s3:GetObject', 's3:DeleteObject']
  return { bucket: request.bucket, key, versionId: undefined, actions, carriesTags: true }
}
