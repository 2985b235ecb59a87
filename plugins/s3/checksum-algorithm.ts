import type { ChecksumAlgorithm, ChecksumsService } from 'svc/plugins/checksums/api'
import { objectErrors } from 'svc/plugins/objects/api'

/** The algorithm in `x-amz-checksum-algorithm`. Throws InvalidRequest for unknown ones. */
export function requireChecksumAlgorithm(
  header: string | string[] | undefined,
  checksums: ChecksumsService,
): ChecksumAlgorithm | undefined {
  if (header === undefined) return undefined
  const name = String(header).toUpperCase()
  const algorithm = checksums.algorithms.find(known => known === name)
  if (algorithm === undefined) {
    throw objectErrors.InvalidRequest(
      'Checksum algorithm provided is unsupported. Please try again with any of the valid types.',
    )
  }
  return algorithm
}
