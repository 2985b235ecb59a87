/**
 * The checksum of an upload, and the checksums that its parts may have. An upload that was begun without an algorithm gets CRC64NVME over
 * the whole object, as on AWS. Its parts may then have checksums of any algorithm: they are verified here, and only the checksum of the
 * upload's algorithm is stored.
 */
import type { ChecksumAlgorithm, ChecksumsService, ChecksumType } from 'svc/plugins/checksums/api'
import { type Body, objectErrors, type Upload } from 'svc/plugins/objects/api'
import { requireChecksumAlgorithm, type S3Request } from 'svc/plugins/s3/api'

const byDefault = { algorithm: 'CRC64NVME', type: 'FULL_OBJECT' } as const

/** Elements for the checksum of a part, in the list that completes an upload. */
export const partChecksums: Readonly<Record<`Checksum${ChecksumAlgorithm}`, 'text'>> = {
  ChecksumCRC32: 'text',
  ChecksumCRC32C: 'text',
  ChecksumCRC64NVME: 'text',
  ChecksumSHA1: 'text',
  ChecksumSHA256: 'text',
  ChecksumSHA512: 'text',
  ChecksumMD5: 'text',
  ChecksumXXHASH64: 'text',
  ChecksumXXHASH3: 'text',
  ChecksumXXHASH128: 'text',
}

export interface UploadChecksum {
  readonly algorithm: ChecksumAlgorithm
  readonly type: ChecksumType
  /** The client did not request an algorithm. */
  readonly isUnasked?: true
}

/** From the headers of CreateMultipartUpload. Throws InvalidRequest for pairs that S3 does not have. */
export function readUploadChecksum({ headers }: S3Request, checksums: ChecksumsService): UploadChecksum {
  const type = readChecksumType(headers['x-amz-checksum-type'] as string | undefined)
  return uploadChecksum(headers['x-amz-checksum-algorithm'], type, checksums)
}

/** Throws InvalidRequest for an unknown algorithm, or one that does not have this type. */
export function uploadChecksum(
  name: string | string[] | undefined,
  type: ChecksumType | undefined,
  checksums: ChecksumsService,
): UploadChecksum {
  const algorithm = requireChecksumAlgorithm(name, checksums)
  if (algorithm === undefined) {
    if (type === undefined) return { ...byDefault, isUnasked: true }
    throw objectErrors.InvalidRequest(
      'The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.',
    )
  }
  const allowed = checksums.types(algorithm)
  if (type === undefined) return { algorithm, type: allowed.includes('COMPOSITE') ? 'COMPOSITE' : 'FULL_OBJECT' }
  if (!allowed.includes(type)) {
    throw objectErrors.InvalidRequest(
      `The ${type} checksum type cannot be used with the ${algorithm.toLowerCase()} checksum algorithm.`,
    )
  }
  return { algorithm, type }
}

export function readChecksumType(text: string | undefined): ChecksumType | undefined {
  const type = text?.toUpperCase()
  if (type === undefined || type === 'COMPOSITE' || type === 'FULL_OBJECT') return type
  throw objectErrors.InvalidRequest('Value for x-amz-checksum-type header is invalid.')
}

/** Elements about the checksum of an upload in progress. An upload that was begun without an algorithm has none, as on AWS. */
export function checksumElements({ checksumAlgorithm, checksumType, isChecksumUnasked }: Upload) {
  return isChecksumUnasked ? undefined : { ChecksumAlgorithm: checksumAlgorithm, ChecksumType: checksumType }
}

/**
 * Whether an answer may contain checksums. Checksums of an SSE-C object are shown only if the request has the key, because they would
 * confirm a guess of the bytes. `describeUpload` must have checked the key before.
 */
export function mayShowChecksums(request: S3Request, { encryption }: Pick<Upload, 'encryption'>): boolean {
  return encryption?.type !== 'SSE-C' || request.customerKey('object') !== undefined
}

/** Throws InvalidRequest when a part announces an algorithm that its upload cannot take. */
export function requirePartAlgorithm(upload: Upload, announced: ChecksumAlgorithm | undefined): void {
  const { checksumAlgorithm: expected } = upload
  if (announced === undefined || announced === expected || expected === byDefault.algorithm) return
  throw checksumMismatch(expected, announced)
}

/**
 * Throws InvalidRequest for a part without a checksum, if the checksum of the whole is computed from the checksums that clients send with
 * the parts.
 */
export function requirePartChecksum(upload: Upload, announced: ChecksumAlgorithm | undefined): void {
  const { checksumAlgorithm: expected, checksumType } = upload
  if (checksumType === 'COMPOSITE' && announced === undefined) throw checksumMismatch(expected, undefined)
}

function checksumMismatch(expected: ChecksumAlgorithm | undefined, announced: ChecksumAlgorithm | undefined): Error {
  const name = (algorithm: ChecksumAlgorithm | undefined) => algorithm?.toLowerCase() ?? 'null'
  return objectErrors.InvalidRequest(
    `Checksum Type mismatch occurred, expected checksum Type: ${name(expected)}, actual checksum Type: ${name(announced)}`,
  )
}

/**
 * A body whose expected checksum is of another algorithm than the upload's: verifies it while the body is read, and does not pass it on.
 */
export function verifyingBody(body: Body, algorithm: ChecksumAlgorithm, checksums: ChecksumsService): Body {
  return {
    sizeBytes: body.sizeBytes,
    expectedDigests: () => ({ md5: body.expectedDigests().md5, checksum: undefined }),
    async consume(sink) {
      const running = checksums.create(algorithm)
      await body.consume(chunk => {
        running.update(chunk)
        return sink(chunk)
      })
      const computed = running.digest()
      const expected = body.expectedDigests().checksum
      if (expected !== undefined && !expected.value.equals(computed)) {
        throw objectErrors.BadDigest(`The ${algorithm} you specified did not match the calculated checksum.`)
      }
    },
  }
}
