/** Shared by GetObject and HeadObject: selects the bytes, and computes the headers that describe them. */
import type { ChecksumValue } from 'svc/plugins/checksums/api'
import { type ObjectVersion, objectErrors } from 'svc/plugins/objects/api'
import {
  type ByteRange,
  checkReadConditions,
  checksumHeaders,
  httpDate,
  metadataHeaders,
  quoteEtag,
  readRange,
  type S3Request,
} from 'svc/plugins/s3/api'

export interface ReadPlan {
  readonly status: 200 | 206 | 304
  readonly start: number
  readonly length: number
  readonly headers: Record<string, string | number | undefined>
}

const overrides: readonly (readonly [parameter: string, header: string])[] = [
  ['response-cache-control', 'Cache-Control'],
  ['response-content-disposition', 'Content-Disposition'],
  ['response-content-encoding', 'Content-Encoding'],
  ['response-content-language', 'Content-Language'],
  ['response-content-type', 'Content-Type'],
  ['response-expires', 'Expires'],
]

// biome-ignore lint/suspicious/noControlCharactersInRegex: they must not reach a header
const controlCharacter = /[\u0000-\u0008\u000a-\u001f\u007f]/

/** `shownId`: see `shownVersionId`. Throws the errors of S3 for delete markers, failed conditions, and missing ranges or parts. */
export function planRead(request: S3Request, version: ObjectVersion, shownId: string | undefined): ReadPlan {
  const { headers: asked, query } = request
  refuseDeleteMarker(request, version)
  // First, because it may refuse the request: without the customer's key a client must not learn the outcome of conditions.
  const contributed = request.describeAttributes(version)
  const condition = checkReadConditions(asked, version)
  const headers: ReadPlan['headers'] = {
    'Accept-Ranges': 'bytes',
    ETag: quoteEtag(version.etag),
    'Last-Modified': httpDate(version.modifiedMs),
    ...metadataHeaders(version),
  }
  if (shownId !== undefined) headers['x-amz-version-id'] = shownId
  if (contributed !== undefined) Object.assign(headers, contributed)
  if (query.size > 0) overrideHeaders(request, headers)
  const { sizeBytes } = version
  if (condition === 'not-modified') {
    delete headers['Content-Type']
    return { status: 304, start: 0, length: 0, headers }
  }
  const part = query.size === 0 ? undefined : query.get('partNumber')
  const range = part === undefined ? requestedRange(request, version) : partRange(request, version, part)
  if (range === undefined) {
    if (asked['x-amz-checksum-mode'] === 'ENABLED') Object.assign(headers, checksumHeaders(version.checksum))
    return { status: 200, start: 0, length: sizeBytes, headers }
  }
  if (part !== undefined) {
    if (version.parts.length > 0) headers['x-amz-mp-parts-count'] = version.parts.length
    if (asked['x-amz-checksum-mode'] === 'ENABLED') {
      Object.assign(headers, checksumHeaders(partChecksum(version, Number(part))))
    }
  }
  headers['Content-Range'] = `bytes ${range.start}-${range.start + range.length - 1}/${sizeBytes}`
  return { status: 206, ...range, headers }
}

/** A delete marker has no bytes and no attributes: without a version id the key does not exist, with one the version cannot be read. */
export function refuseDeleteMarker({ query }: S3Request, version: ObjectVersion): void {
  if (!version.isDeleteMarker) return
  const facts = { 'x-amz-delete-marker': 'true', 'x-amz-version-id': version.versionId }
  if (query.has('versionId')) {
    throw objectErrors.MethodNotAllowed(undefined, {
      extra: { ...facts, 'last-modified': httpDate(version.modifiedMs), allow: 'DELETE' },
    })
  }
  throw objectErrors.NoSuchKey(undefined, { extra: { ...facts, Key: version.key } })
}

/** `If-Range`: if the client has parts of another version, the whole object is sent. */
export function requestedRange({ headers }: Pick<S3Request, 'headers'>, version: ObjectVersion): ByteRange | undefined {
  const ifRange = headers['if-range']
  if (ifRange !== undefined && ifRange !== quoteEtag(version.etag) && ifRange !== httpDate(version.modifiedMs)) {
    return undefined
  }
  return readRange(headers.range, version.sizeBytes)
}

/** The range of one part. An object that was stored in one piece is its own part 1. */
function partRange({ headers }: S3Request, version: ObjectVersion, text: string): ByteRange | undefined {
  if (headers.range !== undefined) {
    throw objectErrors.InvalidRequest('Cannot specify both Range header and partNumber query parameter')
  }
  const partNumber = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (partNumber < 1 || partNumber > 10_000) {
    throw objectErrors.InvalidArgument('Part number must be an integer between 1 and 10000, inclusive', {
      extra: { ArgumentName: 'partNumber', ArgumentValue: text },
    })
  }
  const { parts, sizeBytes } = version
  const count = Math.max(parts.length, 1)
  if (partNumber > count) {
    throw objectErrors.InvalidPartNumber(undefined, {
      extra: { ActualPartCount: String(count), PartNumberRequested: text },
    })
  }
  // A range of zero bytes cannot be expressed.
  if (sizeBytes === 0) return undefined
  if (parts.length === 0) return { start: 0, length: sizeBytes }
  let start = 0
  for (let i = 0; i < partNumber - 1; i++) start += parts[i]!.sizeBytes
  return { start, length: parts[partNumber - 1]!.sizeBytes }
}

/**
 * A checksum with which a client can verify one part: a composite checksum is computed from checksums of parts, and a single part is the
 * whole object. The checksum of a whole object with several parts says nothing about one of them.
 */
function partChecksum({ checksum, parts }: ObjectVersion, partNumber: number): ChecksumValue | undefined {
  if (checksum?.type === 'FULL_OBJECT') return parts.length > 1 ? undefined : checksum
  const value = parts[partNumber - 1]?.checksum?.value
  return checksum === undefined || value === undefined ? undefined : { ...checksum, value }
}

/** `response-…` parameters. For signed requests only, so that a link to a public object cannot change its appearance. */
function overrideHeaders({ query, identity }: S3Request, headers: ReadPlan['headers']): void {
  for (const [parameter, header] of overrides) {
    const value = query.get(parameter)
    if (value === undefined) continue
    if (identity === undefined) {
      throw objectErrors.InvalidRequest('Request specific response headers cannot be used for anonymous GET requests.')
    }
    if (controlCharacter.test(value)) {
      throw objectErrors.InvalidArgument('Header value cannot contain control characters.', {
        extra: { ArgumentName: parameter },
      })
    }
    // Header values consist of bytes, so the UTF-8 is sent unchanged.
    headers[header] = Buffer.from(value, 'utf8').toString('latin1')
  }
}
