/** Objects that a request reads in addition to its own object: the source of a copy or of a rename. */
import type { S3Request } from './api.ts'
import { type CopySource, peekCopySource } from './copy-source.ts'
import { peekRenameSource } from './rename-source.ts'

export interface OtherSource extends CopySource {
  /** The actions that the caller needs on it. */
  readonly actions: readonly string[]
  /** Its tags are written with the object, although the request does not have them. */
  readonly carriesTags: boolean
}

/** Undefined if there is none, or an invalid one: the operation itself reports the problem. */
export function otherSourceOf(request: S3Request): OtherSource | undefined {
  const copied = peekCopySource(request)
  if (copied !== undefined) {
    // A part has no tags: those of the upload were set when it was begun.
    const carriesTags = !request.query.has('uploadId') && request.headers['x-amz-tagging-directive'] !== 'REPLACE'
    const actions = [copied.versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion']
    return { ...copied, actions, carriesTags }
  }
  const key = peekRenameSource(request)
  if (key === undefined) return undefined
  const actions = ['s3:GetObject', 's3:DeleteObject']
  return { bucket: request.bucket, key, versionId: undefined, actions, carriesTags: true }
}
