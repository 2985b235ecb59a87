import { defineErrors } from 'svc/kernel'

/** What can go wrong with buckets, objects and uploads. Codes and statuses as in the AWS S3 error list. */
export const objectErrors = defineErrors({
  BadDigest: {
    status: 400,
    title: 'The Content-MD5 or checksum value that you specified did not match what we received.',
  },
  BucketAlreadyExists: { status: 409, title: 'The requested bucket name is not available. Select a different name.' },
  BucketAlreadyOwnedByYou: {
    status: 409,
    title: 'The bucket that you tried to create already exists, and you own it.',
  },
  BucketNotEmpty: { status: 409, title: 'The bucket that you tried to delete is not empty.' },
  EntityTooLarge: { status: 400, title: 'Your proposed upload exceeds the maximum allowed object size.' },
  EntityTooSmall: { status: 400, title: 'Your proposed upload is smaller than the minimum allowed object size.' },
  InsufficientStorage: { status: 507, title: 'The drive is full; nothing was stored.' },
  InvalidArgument: { status: 400, title: 'Invalid argument.' },
  InvalidBucketName: { status: 400, title: 'The specified bucket is not valid.' },
  InvalidPart: {
    status: 400,
    title: 'One or more of the specified parts could not be found or did not match its entity tag.',
  },
  InvalidPartNumber: { status: 416, title: 'The requested partnumber is not satisfiable.' },
  InvalidPartOrder: {
    status: 400,
    title: 'The list of parts was not in ascending order. Parts must be ordered by part number.',
  },
  InvalidRange: { status: 416, title: 'The requested range is not satisfiable.' },
  InvalidRequest: { status: 400, title: 'Invalid request.' },
  KeyTooLongError: { status: 400, title: 'Your key is too long. A key has at most 1024 bytes in UTF-8.' },
  MethodNotAllowed: { status: 405, title: 'The specified method is not allowed against this resource.' },
  NoSuchBucket: { status: 404, title: 'The specified bucket does not exist.' },
  NoSuchKey: { status: 404, title: 'The specified key does not exist.' },
  NoSuchUpload: {
    status: 404,
    title:
      'The specified multipart upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.',
  },
  NoSuchVersion: { status: 404, title: 'The specified version does not exist.' },
  PreconditionFailed: { status: 412, title: 'At least one of the preconditions that you specified did not hold.' },
})
