import { defineErrors } from 'svc/kernel'

/**
 * What key management may answer. Codes are those of the Admin API where it has one for the case. Backends say in `kms_unavailable` what
 * the operator has to do; the service tells it to the log, and clients only the title. `extra.reason`: the reason in the metrics, where
 * there is a better one than `unavailable`.
 */
export const kmsErrors = defineErrors({
  already_exists: { status: 409, title: 'There is a key of that name already.' },
  invalid_key_id: { status: 400, title: 'No key can have this id.' },
  kms_key_not_found: { status: 404, title: 'The key does not exist.' },
  kms_not_configured: {
    status: 501,
    title:
      'No key management is configured. Set SVC_KMS_SECRET_KEY, as `svc init` writes it, or a key server, and restart the server.',
  },
  kms_open_failed: {
    status: 500,
    title: 'The sealed key does not open: it was altered, or belongs to something else.',
  },
  kms_unavailable: { status: 503, title: 'The key that this needs is not available at present.' },
})

/** What operators have to do about it: for other catalogues too. */
export const notConfiguredTitle = kmsErrors.entries.kms_not_configured.title
