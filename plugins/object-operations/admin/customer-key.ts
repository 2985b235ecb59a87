import { type ObjectVersion, objectErrors } from 'svc/plugins/objects/api'

/**
 * Refuses objects with a customer's key (SSE-C), because the Admin API takes no such keys. To be called before any answer that depends on
 * the bytes. Throws InvalidRequest.
 */
export function refuseCustomerKey({ encryption }: ObjectVersion): void {
  if (encryption?.type !== 'SSE-C') return
  throw objectErrors.InvalidRequest(
    'The object is encrypted with a key of the customer (SSE-C), which the Admin API does not take: use the S3 API.',
  )
}
