import { type ObjectVersion, objectErrors } from 'svc/plugins/objects/api'

/** Larger objects must be copied in parts. */
export const copyBytesMax = 5 * 1024 ** 3

/** Throws EntityTooLarge if the object is too large for a copy in one request. */
export function requireCopySize({ sizeBytes }: ObjectVersion): void {
  if (sizeBytes <= copyBytesMax) return
  throw objectErrors.EntityTooLarge('An object above 5 GiB can only be copied in parts of an upload, over S3.', {
    extra: { ProposedSize: String(sizeBytes), MaxSizeAllowed: String(copyBytesMax) },
  })
}
