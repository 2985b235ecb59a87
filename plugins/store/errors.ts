import { defineErrors } from 'svc/kernel'

/** Errors of the store. Codes are those of the Admin API where it defines one. */
export const storeErrors = defineErrors({
  precondition_failed: { status: 412, title: 'The document is not in the state that the request expects.' },
  invalid_document: { status: 400, title: 'The document does not match its schema.' },
  document_too_large: { status: 413, title: 'The document, or the transaction, is too large.' },
  document_unreadable: {
    status: 409,
    title: 'The stored document cannot be read and is kept as it is; overwrite it explicitly.',
  },
  bucket_not_found: { status: 404, title: 'The bucket does not exist.' },
  busy: { status: 503, title: 'Too many writers change this document at once. Try again.' },
  sealing_key_wrong: { status: 500, title: 'The key that seals secrets at rest cannot be opened.' },
  sealing_key_lost: { status: 500, title: 'The key that seals secrets at rest was lost.' },
  sealing_key_missing: { status: 500, title: 'There is no credential to seal secrets at rest with.' },
})
