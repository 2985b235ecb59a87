import { defineErrors, isCatalogError } from 'svc/kernel'

/** What a storage backend may answer. Thrown as such in every backend, so that callers can map them. */
export const storageErrors = defineErrors({
  corrupt: { status: 500, title: 'Stored bytes do not match their checksum.' },
  gone: { status: 404, title: 'The record has moved or is gone; read it again.' },
  full: { status: 507, title: 'The drive is full.' },
  faulty: { status: 503, title: 'The drive has failed and takes no writes until the server is restarted.' },
  /** Clients of S3 who have signed are told the detail, unless it has a path in it. */
  unavailable: { status: 503, title: 'The storage is not available.' },
  body_too_large: { status: 400, title: 'The body is larger than the backend keeps beside a record.' },
})

/**
 * Whether a change that `execute` has rejected with this may have been made all the same, and be found after the next start: a drive has
 * failed, or nobody answers, after it was written. What the change refers to must not be deleted then. After any other error it was not made.
 */
export function isInDoubt(error: unknown): boolean {
  return !isCatalogError(error) || error.code === 'faulty' || error.code === 'unavailable'
}
