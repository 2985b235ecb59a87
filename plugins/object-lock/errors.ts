import { defineErrors } from 'svc/kernel'

/** Errors of locks beside those of `objects`. Codes as in the AWS S3 error list. */
export const objectLockErrors = defineErrors({
  InvalidRetentionPeriod: {
    status: 400,
    title: 'Default retention period must be a positive integer value',
    verbatim: true,
  },
  NoSuchObjectLockConfiguration: {
    status: 404,
    title: 'The specified object does not have a ObjectLock configuration',
    verbatim: true,
  },
  ObjectLockConfigurationNotFoundError: {
    status: 404,
    title: 'Object Lock configuration does not exist for this bucket',
    verbatim: true,
  },
})
