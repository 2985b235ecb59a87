/** Converts thrown errors to problem documents. */
import { type CatalogError, isCatalogError, type Logger } from 'svc/kernel'
import { whyHopeless } from 'svc/plugins/objects/api'
import { ClientGoneError } from 'svc/plugins/payload/api'
import { adminErrors } from './errors.ts'

/** S3's codes of rules about data, each with the code of the Admin API. */
const namesOfS3: Readonly<Record<string, keyof typeof adminErrors.entries>> = {
  NoSuchBucket: 'bucket_not_found',
  BucketAlreadyExists: 'already_exists',
  BucketAlreadyOwnedByYou: 'already_exists',
  BucketInUse: 'bucket_in_use',
  BucketNotEmpty: 'bucket_not_empty',
  InvalidBucketName: 'invalid_bucket_name',
  InvalidBucketState: 'conflict',
  InvalidArgument: 'invalid_argument',
  InvalidRequest: 'invalid_argument',
  InvalidRetentionPeriod: 'invalid_argument',
  InvalidTag: 'invalid_argument',
  InvalidDigest: 'invalid_argument',
  InvalidStorageClass: 'invalid_argument',
  MetadataTooLarge: 'invalid_argument',
  AccessControlListNotSupported: 'invalid_argument',
  MissingContentLength: 'invalid_argument',
  BadDigest: 'bad_digest',
  XAmzContentSHA256Mismatch: 'bad_digest',
  IncompleteBody: 'malformed_request',
  EntityTooLarge: 'entity_too_large',
  EntityTooSmall: 'entity_too_small',
  InvalidPart: 'invalid_part',
  InvalidPartOrder: 'invalid_part',
  InvalidRange: 'range_not_satisfiable',
  NotImplemented: 'not_implemented',
  ServiceUnavailable: 'service_unavailable',
  // Of a chunk of the body: the head was verified before.
  SignatureDoesNotMatch: 'invalid_credentials',
  BadRequest: 'invalid_argument',
  KeyTooLongError: 'invalid_object_key',
  NoSuchKey: 'object_not_found',
  NoSuchVersion: 'version_not_found',
  NoSuchUpload: 'upload_not_found',
  // After the dispatcher's decision only locks throw it.
  AccessDenied: 'object_locked',
  PreconditionFailed: 'precondition_failed',
  InsufficientStorage: 'insufficient_storage',
  QuotaExceeded: 'quota_exceeded',
  'KMS.NotFoundException': 'invalid_argument',
}

/** A declared error with a code of the Admin API; any other error is a defect, which is logged and answered as `internal_error`. */
export function toAdminError(thrown: unknown, log: Logger, requestId: string, operation: string): CatalogError {
  if (isCatalogError(thrown)) {
    const s3Name = namesOfS3[thrown.code]
    if (s3Name !== undefined) return adminErrors[s3Name](thrown.message, { cause: thrown, extra: thrown.extra })
    // A delete marker has neither bytes nor attributes.
    if (thrown.code === 'MethodNotAllowed') {
      return adminErrors.object_not_found('This version is a delete marker.', { cause: thrown })
    }
    if (thrown.status === 507) return adminErrors.insufficient_storage(undefined, { cause: thrown })
    // `gone`: the object was replaced during the read; the next attempt reads the new one.
    if ((thrown.status === 503 && thrown.code === 'faulty') || thrown.code === 'gone') {
      return adminErrors.service_unavailable(undefined, { cause: thrown })
    }
    if (/^[a-z]/.test(thrown.code) && thrown.status !== 500) return thrown
  }
  if (thrown instanceof ClientGoneError) return adminErrors.malformed_request('The body of the request broke off.')
  log.error({ err: thrown, requestId, operation }, 'a request of the Admin API failed')
  return adminErrors.internal_error(whyHopeless(thrown))
}
