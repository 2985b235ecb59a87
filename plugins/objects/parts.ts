/**
 * Completion of a multipart upload: matches the client's list against the stored parts, and computes the object's size, ETag and
 * checksum. Source: AWS S3 API reference, CompleteMultipartUpload; "Checking object integrity" for the kinds of checksum.
 */
import { hash } from 'node:crypto'
import type { ChecksumAlgorithm, ChecksumsService, ChecksumValue } from 'svc/plugins/checksums/api'
import type { CompleteRequest, Upload } from './api.ts'
import { objectErrors } from './errors.ts'
import type { StoredVersion } from './record.ts'

/** Smallest size of a part other than the last: 5 MiB. */
export const partBytesMin = 5 * 1024 ** 2
/** Largest object: 50 TB, as in S3 since December 2025. */
const objectBytesMax = 50 * 1000 ** 4

export interface StoredPart {
  readonly partNumber: number
  readonly version: StoredVersion
}

/** The parts that the client listed, in order. Throws if one is missing, differs, is out of order or too small. */
export function matchParts(request: CompleteRequest, stored: ReadonlyMap<number, StoredVersion>): StoredPart[] {
  const { parts } = request
  for (let i = 1; i < parts.length; i++) {
    if (parts[i]!.partNumber <= parts[i - 1]!.partNumber) throw objectErrors.InvalidPartOrder()
  }
  const matched = parts.map(listed => matchPart(listed, stored, request.uploadId))
  const small = matched.slice(0, -1).find(part => part.version.sizeBytes < partBytesMin)
  if (small !== undefined) {
    throw objectErrors.EntityTooSmall(undefined, {
      extra: {
        ProposedSize: String(small.version.sizeBytes),
        MinSizeAllowed: String(partBytesMin),
        PartNumber: String(small.partNumber),
        ETag: small.version.etag,
      },
    })
  }
  return matched
}

function matchPart(
  listed: CompleteRequest['parts'][number],
  stored: ReadonlyMap<number, StoredVersion>,
  uploadId: string,
): StoredPart {
  const { partNumber, etag, checksum } = listed
  const version = stored.get(partNumber)
  if (version === undefined || version.etag !== etag) {
    throw objectErrors.InvalidPart(undefined, {
      extra: { UploadId: uploadId, PartNumber: String(partNumber), ETag: etag },
    })
  }
  const has = version.checksum
  if (checksum !== undefined && (has?.algorithm !== checksum.algorithm || has.value !== checksum.value)) {
    throw objectErrors.InvalidPart(`The ${checksum.algorithm} checksum of part ${partNumber} does not match.`)
  }
  return { partNumber, version }
}

/** MD5 over the parts' MD5s: the digits of a multipart ETag before `-<parts>`. */
export function multipartMd5(digests: readonly Buffer[]): Buffer {
  return hash('md5', Buffer.concat(digests), 'buffer')
}

export function totalSize(parts: readonly StoredPart[], expectedBytes: number | undefined): number {
  const sizeBytes = parts.reduce((sum, part) => sum + part.version.sizeBytes, 0)
  if (sizeBytes > objectBytesMax) {
    throw objectErrors.EntityTooLarge(undefined, {
      extra: { ProposedSize: String(sizeBytes), MaxSizeAllowed: String(objectBytesMax) },
    })
  }
  if (expectedBytes !== undefined && expectedBytes !== sizeBytes) {
    throw objectErrors.InvalidRequest(
      `x-amz-mp-object-size is ${expectedBytes}, but the parts have ${sizeBytes} bytes together.`,
    )
  }
  return sizeBytes
}

/** The object's checksum, computed from those of its parts and compared with the one the client expects. */
export function combineChecksums(
  checksums: ChecksumsService,
  upload: Upload,
  parts: readonly StoredPart[],
  request: CompleteRequest,
): ChecksumValue | undefined {
  const algorithm = upload.checksumAlgorithm
  if (algorithm === undefined) return undefined
  const type = upload.checksumType ?? 'COMPOSITE'
  if (request.checksumType !== undefined && request.checksumType !== type) {
    throw objectErrors.InvalidRequest(
      `The upload was created with checksum type ${type}; the completion names ${request.checksumType}.`,
    )
  }
  if (type === 'COMPOSITE') requirePartChecksums(algorithm, request)
  const digests: Buffer[] = parts.map(part => Buffer.from(part.version.checksum!.value, 'base64'))
  const value =
    type === 'COMPOSITE'
      ? `${checksums.composite(algorithm, digests).toString('base64')}-${parts.length}`
      : digests
          .reduce((whole, digest, i) =>
            i === 0 ? digest : checksums.combine(algorithm, whole, digest, parts[i]!.version.sizeBytes),
          )
          .toString('base64')
  const expected = request.checksum
  if (expected !== undefined && expected.algorithm !== algorithm) {
    throw objectErrors.InvalidRequest(`The upload uses ${algorithm}; the completion names ${expected.algorithm}.`)
  }
  // Clients send a composite value with or without its part count.
  if (expected !== undefined && expected.value !== value && `${expected.value}-${parts.length}` !== value) {
    throw objectErrors.BadDigest(`The ${algorithm} you specified did not match the calculated checksum.`)
  }
  return { algorithm, type, value }
}

/**
 * A composite checksum requires the client's checksum of each part, as on AWS: without it the client has not verified that part.
 */
function requirePartChecksums(algorithm: ChecksumAlgorithm, request: CompleteRequest): void {
  const bare = request.parts.find(part => part.checksum === undefined)
  if (bare === undefined) return
  throw objectErrors.InvalidRequest(
    `The upload was created using a ${algorithm.toLowerCase()} checksum. The complete request must include the checksum ` +
      `for each part. It was missing for part ${bare.partNumber} in the request.`,
  )
}
