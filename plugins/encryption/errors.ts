import { defineErrors } from 'svc/kernel'

/** Codes and statuses as AWS has them; texts close to its own. */
export const encryptionErrors = defineErrors({
  AccessDenied: { status: 403, title: 'Access Denied' },
  InvalidArgument: { status: 400, title: 'Invalid argument.' },
  InvalidEncryptionAlgorithmError: {
    status: 400,
    title: 'The encryption request that you specified is not valid. The valid value is AES256.',
  },
  InvalidRequest: { status: 400, title: 'Invalid request.' },
  'KMS.NotFoundException': { status: 400, title: 'The KMS key does not exist.' },
  NotImplemented: {
    status: 501,
    title: 'Server side encryption was asked for, but no key management is configured.',
  },
  ServerSideEncryptionConfigurationNotFoundError: {
    status: 404,
    title: 'The server side encryption configuration was not found.',
  },
})

/** Of reads without the key of the customer that the object is encrypted under. */
export function customerKeyMissing(): Error {
  return encryptionErrors.InvalidRequest(
    'The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object.',
  )
}

export function customerKeyNotApplicable(): Error {
  return encryptionErrors.InvalidRequest('The encryption parameters are not applicable to this object.')
}

/** Of the Admin API. */
export const encryptionAdminErrors = defineErrors({
  encryption_not_found: { status: 404, title: 'The bucket has no default encryption.' },
})
