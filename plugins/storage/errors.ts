import { defineErrors } from 'svc/kernel'

/** What a storage backend may answer. Thrown as such in every backend, so that callers can map them. */
export const storageErrors = defineErrors({
  corrupt: { status: 500, title: 'Stored bytes do not match their checksum.' },
  gone: { status: 404, title: 'The record has moved or is gone; read it again.' },
  full: { status: 507, title: 'The drive is full.' },
  faulty: { status: 503, title: 'The drive has failed and takes no writes until the server is restarted.' },
  unavailable: { status: 503, title: 'The storage is not available.' },
  body_too_large: { status: 400, title: 'The body is larger than the backend keeps beside a record.' },
})
