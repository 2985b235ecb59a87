/**
 * The length and the digests that a request announces for its payload: MD5, and one checksum in a header or trailer. Source:
 * AWS "Checking object integrity in Amazon S3" and "Transferring payload in multiple chunks".
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { ChecksumAlgorithm, ChecksumsService } from 'svc/plugins/checksums/api'
import type { Authentication } from 'svc/plugins/iam/api'
import { type ExpectedDigests, objectErrors } from 'svc/plugins/objects/api'
import { payloadErrors } from './errors.ts'

export interface ExpectedPayload extends ExpectedDigests {
  /** Length after decoding, if announced. */
  readonly sizeBytes: number | undefined
  /** Lower-case name of the trailer that will have the checksum. */
  readonly trailer: string | undefined
  /** The algorithm of the checksum in the header or trailer. */
  readonly algorithm: ChecksumAlgorithm | undefined
}

/** Throws the errors of AWS for malformed or contradictory headers. */
export function readExpectedPayload(
  headers: IncomingHttpHeaders,
  authentication: Pick<Authentication, 'method' | 'payload'>,
  checksums: ChecksumsService,
): ExpectedPayload {
  const trailer = readTrailer(headers, authentication, checksums)
  const checksum = readChecksumHeader(headers, checksums)
  if (trailer !== undefined && checksum !== undefined) {
    throw objectErrors.InvalidRequest('Expecting a single x-amz-checksum- header or trailer, not both.')
  }
  const algorithm = checksum?.algorithm ?? (trailer === undefined ? undefined : checksums.fromHeader(trailer))
  requireSdkAlgorithm(headers, algorithm)
  const sizeBytes = readLength(headers, authentication)
  if (authentication.method === 'presigned' && checksum !== undefined && sizeBytes !== 0) {
    refuseEmptyChecksum(checksum, checksums)
  }
  return { sizeBytes, md5: readMd5(headers), checksum, trailer, algorithm }
}

function readLength(
  headers: IncomingHttpHeaders,
  authentication: Pick<Authentication, 'method' | 'payload'>,
): number | undefined {
  const header = authentication.payload.kind === 'chunked' ? 'x-amz-decoded-content-length' : 'content-length'
  const text = headers[header] as string | undefined
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) {
    throw objectErrors.InvalidArgument(`The value of ${header} is not a length.`, {
      extra: { ArgumentName: header, ArgumentValue: text },
    })
  }
  return Number(text)
}

function readMd5(headers: IncomingHttpHeaders): Buffer | undefined {
  const text = headers['content-md5'] as string | undefined
  if (text === undefined) return undefined
  const md5 = fromBase64(text, 16)
  if (md5 === undefined) throw payloadErrors.InvalidDigest(undefined, { extra: { 'Content-MD5': text } })
  return md5
}

function readChecksumHeader(headers: IncomingHttpHeaders, checksums: ChecksumsService): ExpectedDigests['checksum'] {
  let found: ExpectedDigests['checksum']
  for (const algorithm of checksums.algorithms) {
    const name = checksums.header(algorithm)
    const text = headers[name] as string | undefined
    if (text === undefined) continue
    if (found !== undefined) {
      throw objectErrors.InvalidRequest(
        'Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.',
      )
    }
    found = { algorithm, value: checksumBytes(name, text, checksums.size(algorithm)) }
  }
  requireKnownChecksums(headers, checksums)
  return found
}

/** Refuses unknown checksums: a client that sends a checksum relies on its verification. */
function requireKnownChecksums(headers: IncomingHttpHeaders, checksums: ChecksumsService): void {
  for (const name in headers) {
    if (!name.startsWith('x-amz-checksum-') || notChecksums.has(name) || checksums.fromHeader(name) !== undefined)
      continue
    throw objectErrors.InvalidRequest('The algorithm type you specified in x-amz-checksum- header is invalid.')
  }
}

/** Headers about a checksum, without its value. */
const notChecksums: ReadonlySet<string> = new Set([
  'x-amz-checksum-algorithm',
  'x-amz-checksum-mode',
  'x-amz-checksum-type',
])

/** The raw digest of a checksum header or trailer. */
export function checksumBytes(name: string, text: string, sizeBytes: number): Buffer {
  const value = fromBase64(text.trim(), sizeBytes)
  if (value === undefined) throw objectErrors.InvalidRequest(`Value for ${name} header is invalid.`)
  return value
}

function fromBase64(text: string, sizeBytes: number): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  // Node.js skips invalid characters; only the canonical form survives the round trip.
  return bytes.length === sizeBytes && bytes.toString('base64') === text ? bytes : undefined
}

function readTrailer(
  headers: IncomingHttpHeaders,
  authentication: Pick<Authentication, 'method' | 'payload'>,
  checksums: ChecksumsService,
): string | undefined {
  const { payload } = authentication
  if (payload.kind !== 'chunked' || !payload.trailer) return undefined
  const names = String(headers['x-amz-trailer'] ?? '')
    .split(',')
    .map(name => name.trim().toLowerCase())
    .filter(name => checksums.fromHeader(name) !== undefined)
  if (names.length > 1) throw objectErrors.InvalidRequest('Expecting a single x-amz-checksum- trailer.')
  return names[0]
}

/** SDKs announce the algorithm beside the checksum itself; the two must agree. */
function requireSdkAlgorithm(headers: IncomingHttpHeaders, algorithm: ChecksumAlgorithm | undefined): void {
  const announced = headers['x-amz-sdk-checksum-algorithm'] as string | undefined
  if (announced === undefined) return
  if (algorithm === undefined) {
    throw objectErrors.InvalidRequest(
      'x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers were found.',
    )
  }
  if (announced.toUpperCase() !== algorithm) {
    throw objectErrors.InvalidRequest('Value for x-amz-sdk-checksum-algorithm header is invalid.')
  }
}

/**
 * Some SDKs presign an upload together with the checksum of an empty body, because they do not have the body yet. No
 * upload through such a URL can succeed, and the plain BadDigest tells nobody why.
 */
function refuseEmptyChecksum(checksum: NonNullable<ExpectedDigests['checksum']>, checksums: ChecksumsService): void {
  const empty = checksums.create(checksum.algorithm).digest()
  if (!empty.equals(checksum.value)) return
  throw objectErrors.BadDigest(
    `The presigned URL carries the ${checksum.algorithm} of an empty body, but the body is not empty. The SDK that made ` +
      'the URL added it: create its client with requestChecksumCalculation: WHEN_REQUIRED.',
  )
}
