import { objectErrors } from 'svc/plugins/objects/api'

/** Throws InvalidArgument unless it is a number of bytes; 0 is no quota. */
export function requireQuota(sizeBytes: number): void {
  if (Number.isSafeInteger(sizeBytes) && sizeBytes >= 0) return
  throw objectErrors.InvalidArgument('A quota is a number of bytes from 0 (none) to 2^53 - 1.')
}
