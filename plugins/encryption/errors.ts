import { defineErrors } from 'svc/kernel'
import { notConfiguredTitle } from 'svc/plugins/kms/api'

/** Codes, statuses and texts follow AWS. */
export const encryptionErrors = defineErrors({
  AccessDenied: { status: 403, title: 'Access Denied' },
  InvalidArgument: { status: 400, title: 'Invalid argument.' },
  InvalidEncryptionAlgorithmError: {
    status: 400,
    title: 'The encryption request that you specified is not valid. The valid value is AES256.',
  },
  InvalidRequest: { status: 400, title: 'Invalid request.' },
  'KMS.NotFoundException': { status: 400, title: 'The KMS key does not exist.' },
  NotImplemented: { status: 501, title: notConfiguredTitle },
  ServerSideEncryptionConfigurationNotFoundError: {
    status: 404,
    title: 'The server side encryption configuration was not found',
    verbatim: true,
  },
})

/** For a read of an SSE-C object without the customer's key. */
export function customerKeyMissing(): Error {
  return encryptionErrors.InvalidRequest(
    'The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object.',
  )
}

export function customerKeyNotApplicable(): Error {
  return encryptionErrors.InvalidRequest('The encryption parameters are not applicable to this object.')
}

/** Errors of the Admin API. */
export const encryptionAdminErrors = defineErrors({
  encryption_not_found: { status: 404, title: 'The bucket has no default encryption.' },
})
