import { defineErrors, isCatalogError } from 'svc/kernel'

/** The errors of buckets, objects and uploads, with the codes and statuses of the AWS S3 error list. */
export const objectErrors = defineErrors({
  AccessDenied: { status: 403, title: 'Access Denied because object protected by object lock.' },
  BadDigest: {
    status: 400,
    title: 'The Content-MD5 or checksum value that you specified did not match what we received.',
  },
  BucketAlreadyExists: {
    status: 409,
    title:
      'The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please select a different name and try again.',
    verbatim: true,
  },
  BucketAlreadyOwnedByYou: {
    status: 409,
    title: 'Your previous request to create the named bucket succeeded and you already own it.',
    verbatim: true,
  },
  BucketInUse: {
    status: 409,
    title: 'The bucket is not deleted, because a distribution publishes it.',
  },
  BucketNotEmpty: { status: 409, title: 'The bucket you tried to delete is not empty', verbatim: true },
  EntityTooLarge: { status: 400, title: 'Your proposed upload exceeds the maximum allowed size', verbatim: true },
  EntityTooSmall: {
    status: 400,
    title: 'Your proposed upload is smaller than the minimum allowed size',
    verbatim: true,
  },
  IdempotencyParameterMismatch: {
    status: 400,
    title: 'The client token was used before, for a request with other parameters.',
  },
  InsufficientStorage: { status: 507, title: 'The drive is full; nothing was stored.' },
  InvalidArgument: { status: 400, title: 'Invalid argument.' },
  InvalidBucketState: { status: 409, title: 'The request is not valid for the current state of the bucket.' },
  InvalidBucketName: { status: 400, title: 'The specified bucket is not valid.', verbatim: true },
  InvalidPart: {
    status: 400,
    title:
      "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.",
    verbatim: true,
  },
  InvalidPartNumber: { status: 416, title: 'The requested partnumber is not satisfiable', verbatim: true },
  InvalidPartOrder: {
    status: 400,
    title: 'The list of parts was not in ascending order. Parts must be ordered by part number.',
    verbatim: true,
  },
  InvalidRange: { status: 416, title: 'The requested range is not satisfiable', verbatim: true },
  InvalidRequest: { status: 400, title: 'Invalid request.' },
  KeyTooLongError: { status: 400, title: 'Your key is too long', verbatim: true },
  MethodNotAllowed: {
    status: 405,
    title: 'The specified method is not allowed against this resource.',
    verbatim: true,
  },
  NoSuchBucket: { status: 404, title: 'The specified bucket does not exist', verbatim: true },
  NoSuchKey: { status: 404, title: 'The specified key does not exist.', verbatim: true },
  NoSuchUpload: {
    status: 404,
    title:
      'The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.',
    verbatim: true,
  },
  NoSuchVersion: { status: 404, title: 'The specified version does not exist.', verbatim: true },
  QuotaExceeded: { status: 403, title: 'The quota of the bucket does not allow this; nothing was stored.' },
  PreconditionFailed: {
    status: 412,
    title: 'At least one of the pre-conditions you specified did not hold',
    verbatim: true,
  },
})

/** The error for a name that no bucket can have. */
export function invalidBucketName(name: string): Error {
  return objectErrors.InvalidBucketName(
    'A name has 3 to 63 lower-case letters, digits, hyphens and dots, begins and ends with a letter or digit, and is no IP address, ' +
      'nor a reserved name.',
    { extra: { BucketName: name } },
  )
}

/** The error for a missing version: the named one, or any current one. */
export function noSuchVersion(key: string, versionId: string | undefined): Error {
  return versionId === undefined
    ? objectErrors.NoSuchKey(undefined, { extra: { Key: key } })
    : objectErrors.NoSuchVersion(undefined, { extra: { Key: key, VersionId: versionId } })
}

/** The error for reading bytes, tags or locks of a delete marker. */
export function onDeleteMarker(versionId: string, extra: Readonly<Record<string, string>> = {}): Error {
  return objectErrors.MethodNotAllowed(undefined, {
    extra: { 'x-amz-delete-marker': 'true', 'x-amz-version-id': versionId, allow: 'DELETE', ...extra },
  })
}

/** What clients are told of a failed read for which a retry is useless. Undefined of every other error. */
export function whyHopeless(error: unknown): string | undefined {
  return isCatalogError(error) ? hopeless[error.code] : undefined
}

const hopeless: Readonly<Record<string, string>> = {
  corrupt:
    'The stored bytes are damaged and cannot be read. Trying again does not help; the operator has to look at the drives.',
  kms_open_failed:
    'The key that this was encrypted with does not open. Trying again does not help; the operator has to look at the key management.',
}
