import { type ObjectAttributes, type ObjectVersion, objectErrors } from 'svc/plugins/objects/api'
import {
  type CopySource,
  checkBucketOwner,
  checkCopyConditions,
  checksumFields,
  defineS3Operation,
  isoTime,
  quoteEtag,
  readAttributes,
  readCopySource,
  readWriteConditions,
  requireChecksumAlgorithm,
  requireCopySource,
  type S3Request,
} from 'svc/plugins/s3/api'

/** Larger objects are copied in parts. */
const copyBytesMax = 5 * 1024 ** 3

export default defineS3Operation<'objects' | 'checksums'>({
  name: 'CopyObject',
  summary: 'Stores a copy of an object.',
  match: { method: 'PUT', level: 'object', header: 'x-amz-copy-source' },
  action: 's3:PutObject',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'CopyObjectResult' },
  isSlow: true,
  errors: [
    'AccessDenied',
    'InvalidArgument',
    'InvalidRequest',
    'InvalidRedirectLocation',
    'InvalidStorageClass',
    'MetadataTooLarge',
    'NoSuchBucket',
    'NoSuchKey',
    'NoSuchVersion',
    'PreconditionFailed',
  ],
  async handle(request, { objects, checksums }) {
    const { bucket, key, headers } = request
    const from = readCopySource(request)
    requireCopySource(request, from)
    await checkBucketOwner(headers['x-amz-source-expected-bucket-owner'] as string | undefined, () =>
      objects.getBucket(from.bucket),
    )
    const source = await objects.getObject(from.bucket, from.key, from.versionId)
    refuseDeleteMarker(from, source)
    checkCopyConditions(headers, source)
    if (source.sizeBytes > copyBytesMax) {
      throw objectErrors.InvalidRequest(
        `The specified copy source is larger than the maximum allowable size for a copy source: ${copyBytesMax}`,
      )
    }
    const checksumAlgorithm = requireChecksumAlgorithm(headers['x-amz-checksum-algorithm'], checksums)
    const { attributes, isChanged } = copyAttributes(request, source)
    if (!isChanged && checksumAlgorithm === undefined && from.bucket === bucket && from.key === key) {
      throw objectErrors.InvalidRequest(
        "This copy request is illegal because it is trying to copy an object to itself without changing the object's " +
          'metadata, storage class, website redirect location or encryption attributes.',
      )
    }
    const copied = await objects.copyObject({
      source,
      bucket,
      key,
      attributes,
      checksumAlgorithm,
      conditions: readWriteConditions(headers),
    })
    return {
      headers: {
        'x-amz-version-id': copied.versionId,
        'x-amz-copy-source-version-id': source.versionId === 'null' ? undefined : source.versionId,
      },
      xml: {
        LastModified: isoTime(copied.modifiedMs),
        ETag: quoteEtag(copied.etag),
        ...checksumFields(copied.checksum),
      },
    }
  },
})

function refuseDeleteMarker({ key, versionId }: CopySource, source: ObjectVersion): void {
  if (!source.isDeleteMarker) return
  if (versionId === undefined) throw objectErrors.NoSuchKey(undefined, { extra: { Key: key } })
  throw objectErrors.InvalidRequest(
    'The source of a copy request may not specifically refer to a delete marker by version id.',
  )
}

/** The directives decide what comes from the source; storage class and redirect always come with the request. */
function copyAttributes(
  { headers }: S3Request,
  source: ObjectVersion,
): { attributes: ObjectAttributes; isChanged: boolean } {
  const given = readAttributes(headers)
  const metadata = directive(headers['x-amz-metadata-directive'], 'x-amz-metadata-directive')
  const tagging = directive(headers['x-amz-tagging-directive'], 'x-amz-tagging-directive')
  const { websiteRedirectLocation } = given.system
  const kept = { ...source.system, websiteRedirectLocation }
  const isChanged =
    metadata === 'REPLACE' || headers['x-amz-storage-class'] !== undefined || websiteRedirectLocation !== undefined
  return {
    attributes: {
      system: metadata === 'REPLACE' ? given.system : kept,
      user: metadata === 'REPLACE' ? given.user : source.user,
      storageClass: given.storageClass,
      tags: tagging === 'REPLACE' ? undefined : source.tags,
    },
    isChanged,
  }
}

function directive(value: string | string[] | undefined, name: string): 'COPY' | 'REPLACE' {
  if (value === undefined || value === 'COPY') return 'COPY'
  if (value === 'REPLACE') return value
  throw objectErrors.InvalidArgument(`Unknown value of ${name}.`, {
    extra: { ArgumentName: name, ArgumentValue: String(value) },
  })
}
