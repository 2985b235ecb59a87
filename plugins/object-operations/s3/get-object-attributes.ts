import type { ChecksumValue } from 'svc/plugins/checksums/api'
import { type ObjectPart, type ObjectVersion, objectErrors } from 'svc/plugins/objects/api'
import {
  checksumFields,
  defineS3Operation,
  httpDate,
  readListSize,
  type S3Request,
  shownVersionId,
} from 'svc/plugins/s3/api'
import { refuseDeleteMarker } from '../read-answer.ts'

const known = new Set(['ETag', 'Checksum', 'ObjectParts', 'StorageClass', 'ObjectSize'])

export default defineS3Operation({
  name: 'GetObjectAttributes',
  summary: 'Returns selected attributes of an object, such as its parts.',
  match: { method: 'GET', level: 'object', query: ['attributes'] },
  action: 's3:GetObjectAttributes',
  versionedAction: 's3:GetObjectVersionAttributes',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'GetObjectAttributesResponse' },
  errors: ['InvalidArgument', 'MethodNotAllowed', 'NoSuchBucket', 'NoSuchKey', 'NoSuchVersion'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, query, headers } = request
    const wanted = readWanted(headers['x-amz-object-attributes'] as string | undefined)
    const version = await objects.getObject(bucket, key, query.get('versionId'))
    refuseDeleteMarker(request, version)
    // Called because it may refuse the request: without the customer's key a client must not read attributes.
    request.describeAttributes(version)
    return {
      headers: {
        'Last-Modified': httpDate(version.modifiedMs),
        'x-amz-version-id': await shownVersionId(request, objects, version.versionId),
      },
      xml: {
        ETag: wanted.has('ETag') ? version.etag : undefined,
        Checksum:
          wanted.has('Checksum') && version.checksum ? checksumFields(withoutCount(version.checksum)) : undefined,
        ObjectParts:
          wanted.has('ObjectParts') && version.parts.length > 0 ? describeParts(request, version) : undefined,
        StorageClass: wanted.has('StorageClass') ? version.storageClass : undefined,
        ObjectSize: wanted.has('ObjectSize') ? version.sizeBytes : undefined,
      },
    }
  },
})

/** Only here a composite checksum has no number of parts, as on AWS. */
function withoutCount(checksum: ChecksumValue): ChecksumValue {
  return { ...checksum, value: checksum.value.replace(/-\d+$/, '') }
}

function readWanted(header: string | undefined): ReadonlySet<string> {
  const names = (header ?? '').split(',').map(name => name.trim())
  if (names.every(name => known.has(name))) return new Set(names)
  throw objectErrors.InvalidArgument('Invalid attribute name specified.', {
    extra: { ArgumentName: 'x-amz-object-attributes', ArgumentValue: header ?? '' },
  })
}

function describeParts({ headers }: S3Request, { parts }: ObjectVersion) {
  const maxParts = readListSize(headers['x-amz-max-parts'] as string | undefined, 'x-amz-max-parts')
  const text = headers['x-amz-part-number-marker'] as string | undefined
  if (text !== undefined && !/^\d{1,10}$/.test(text)) {
    throw objectErrors.InvalidArgument('x-amz-part-number-marker must be a number.', {
      extra: { ArgumentName: 'x-amz-part-number-marker', ArgumentValue: text },
    })
  }
  const marker = Number(text ?? 0)
  const rest = parts.filter(part => part.partNumber > marker)
  const page = rest.slice(0, maxParts)
  const isTruncated = rest.length > page.length && maxParts > 0
  // AWS lists parts only if they have checksums of their own.
  const isListed = page.some(part => part.checksum !== undefined)
  return {
    PartsCount: parts.length,
    PartNumberMarker: marker,
    NextPartNumberMarker: page.at(-1)?.partNumber ?? marker,
    MaxParts: maxParts,
    IsTruncated: isTruncated,
    Part: isListed ? page.map(describePart) : undefined,
  }
}

function describePart({ partNumber, sizeBytes, checksum }: ObjectPart) {
  const value = checksum === undefined ? undefined : { [`Checksum${checksum.algorithm}`]: checksum.value }
  return { PartNumber: partNumber, Size: sizeBytes, ...value }
}
