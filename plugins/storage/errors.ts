import { defineErrors, isCatalogError } from 'svc/kernel'

/** The errors of every storage backend, thrown unchanged so that callers can map them. */
export const storageErrors = defineErrors({
  corrupt: { status: 500, title: 'Stored bytes do not match their checksum.' },
  gone: { status: 404, title: 'The record has moved or was deleted; read it again.' },
  full: { status: 507, title: 'The drive is full.' },
  faulty: { status: 503, title: 'The drive has failed and takes no writes.' },
  /** Signed S3 clients are told the detail, unless it contains a path. */
  unavailable: { status: 503, title: 'The storage is not available.' },
  body_too_large: { status: 400, title: 'The body is larger than the backend stores beside a record.' },
})

/**
 * Whether a change that `execute` rejected with this error may have been made all the same, and may be found later, after the next
 * start at the latest: a drive failed, or stopped answering, after the write. Files that the change refers to must not be deleted then,
 * but by the backend, once it knows (`BlobWriter.abandon`). After any other error the change was not made.
 */
export function isInDoubt(error: unknown): boolean {
  return !isCatalogError(error) || error.code === 'faulty' || error.code === 'unavailable'
}
