/**
 * `x-amz-rename-source`: the percent-encoded key of an object in the bucket of the request, without the bucket's name. The service model of
 * AWS has the pattern `bucket/key` for it, but its guide and its own clients send only the key. Only one of the two can be supported,
 * because a key may begin like its bucket.
 */
import { objectErrors, requireKeyLength } from 'svc/plugins/objects/api'
import type { S3Request } from './api.ts'
import { decode } from './target.ts'

/** Throws InvalidArgument for a missing or invalid key. */
export function readRenameSource(request: S3Request): string {
  const header = request.headers['x-amz-rename-source'] as string | undefined
  if (header === undefined || header === '') {
    throw objectErrors.InvalidArgument('RenameObject needs x-amz-rename-source, the key of an object.', {
      extra: { ArgumentName: 'x-amz-rename-source', ArgumentValue: '' },
    })
  }
  const key = request.normalizeKey(decode(header))
  requireKeyLength(key)
  return key
}

/** Undefined if there is none, or an invalid one. */
export function peekRenameSource(request: S3Request): string | undefined {
  if (request.headers['x-amz-rename-source'] === undefined || !request.query.has('renameObject')) return undefined
  try {
    return readRenameSource(request)
  } catch {
    // The operation itself reports the problem.
    return undefined
  }
}
