/** Parameters that several multipart operations read. */
import { objectErrors } from 'svc/plugins/objects/api'
import type { S3Request } from 'svc/plugins/s3/api'

const partNumberMax = 10_000

/** `partNumber`: 1…10000. Throws InvalidArgument. */
export function readPartNumber({ query }: S3Request): number {
  const text = query.get('partNumber')!
  const partNumber = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (partNumber >= 1 && partNumber <= partNumberMax) return partNumber
  throw objectErrors.InvalidArgument(`Part number must be an integer between 1 and ${partNumberMax}, inclusive`, {
    extra: { ArgumentName: 'partNumber', ArgumentValue: text },
  })
}

/** A marker between parts: any non-negative integer. */
export function readPartMarker(text: string | undefined): number {
  if (text === undefined || text === '') return 0
  if (/^\d{1,10}$/.test(text)) return Number(text)
  throw objectErrors.InvalidArgument('Argument part-number-marker must be an integer between 0 and 2147483647', {
    extra: { ArgumentName: 'part-number-marker', ArgumentValue: text },
  })
}
