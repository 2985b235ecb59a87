import { type ObjectVersion, objectErrors } from 'svc/plugins/objects/api'

/**
 * Keys of customers come over the S3 API alone: here nobody can read what they encrypt. Before anything that would tell of the bytes.
 * Throws InvalidRequest.
 */
export function refuseCustomerKey({ encryption }: ObjectVersion): void {
  if (encryption?.type !== 'SSE-C') return
  throw objectErrors.InvalidRequest(
    'The object is encrypted with a key of the customer (SSE-C), which the Admin API does not take: use the S3 API.',
  )
}
