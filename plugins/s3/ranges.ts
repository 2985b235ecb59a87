/** Byte ranges. Source: RFC 9110 section 14; AWS S3 API reference, GetObject and UploadPartCopy. */
import { objectErrors } from 'svc/plugins/objects/api'

export interface ByteRange {
  /** First byte. */
  readonly start: number
  readonly length: number
}

const oneRange = /^bytes=[ \t]{0,8}(\d{0,20})[ \t]{0,8}-[ \t]{0,8}(\d{0,20})[ \t]{0,8}$/

/**
 * The range of a `Range` header for a body of this size. Undefined: the whole body, because the header is absent, malformed, or requests
 * several ranges (which S3 does not support), or the end of an empty body. Throws InvalidRange if the range contains no byte of the body.
 */
export function readRange(header: string | undefined, sizeBytes: number): ByteRange | undefined {
  if (header === undefined) return undefined
  const match = oneRange.exec(header)
  if (match === null) return undefined
  const [, first = '', last = ''] = match
  if (first === '') {
    if (last === '') return undefined
    const length = Math.min(Number(last), sizeBytes)
    // The last bytes of an empty body are the whole body, as on AWS; the last zero bytes are invalid.
    if (sizeBytes === 0 && Number(last) > 0) return undefined
    if (length === 0) throw unsatisfiable(header, sizeBytes)
    return { start: sizeBytes - length, length }
  }
  const start = Number(first)
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1)
  if (last !== '' && Number(last) < start) return undefined
  if (start >= sizeBytes) throw unsatisfiable(header, sizeBytes)
  return { start, length: end - start + 1 }
}

/** `x-amz-copy-source-range`: must have both ends, inside the source. Undefined: the whole source. */
export function readCopyRange(header: string | undefined, sizeBytes: number): ByteRange | undefined {
  if (header === undefined) return undefined
  const match = /^bytes=(\d+)-(\d+)$/.exec(header)
  if (match === null) {
    throw objectErrors.InvalidArgument(
      'The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy',
      { extra: { ArgumentName: 'x-amz-copy-source-range', ArgumentValue: header } },
    )
  }
  const start = Number(match[1])
  const end = Number(match[2])
  if (start > end || end >= sizeBytes) {
    throw objectErrors.InvalidArgument(`Range specified is not valid for source object of size: ${sizeBytes}`, {
      extra: { ArgumentName: 'x-amz-copy-source-range', ArgumentValue: header },
    })
  }
  return { start, length: end - start + 1 }
}

function unsatisfiable(header: string, sizeBytes: number) {
  return objectErrors.InvalidRange(undefined, {
    extra: { RangeRequested: header, ActualObjectSize: String(sizeBytes), 'content-range': `bytes */${sizeBytes}` },
  })
}
