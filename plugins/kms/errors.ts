import { defineErrors } from 'svc/kernel'

/**
 * The errors of key management; codes follow the Admin API where it defines one. The message of `kms_unavailable` tells the operator what
 * to do: the service logs it, and passes only the title on to clients. `extra.reason`: the label of the metrics, instead of `unavailable`.
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
    title: 'The data key cannot be unwrapped: it was altered, or belongs to another object.',
  },
  kms_unavailable: { status: 503, title: 'The required key is not available at present.' },
})

/** Title of `kms_not_configured`, for the catalogues of other plugins. */
export const notConfiguredTitle = kmsErrors.entries.kms_not_configured.title
