import { type ObjectAttributes, type ObjectVersion, objectErrors } from 'svc/plugins/objects/api'
import {
  allowedWriteConditions,
  type CopySource,
  checksumFields,
  defineS3Operation,
  isoTime,
  quoteEtag,
  readCopySource,
  readSourceVersion,
  requireChecksumAlgorithm,
  type S3Request,
  s3Errors,
  writtenVersionId,
} from 'svc/plugins/s3/api'
import { copyBytesMax } from '../copy-size.ts'
import { requireTagCopy } from '../tag-copy.ts'

export default defineS3Operation({
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
    'NotImplemented',
    'PreconditionFailed',
  ],
  uses: ['objects', 'checksums'],
  async handle(request, { objects, checksums }) {
    const { bucket, key, headers } = request
    const from = readCopySource(request)
    const source = await readSourceVersion(request, objects, from)
    if (!request.mayCarryTags(source)) throw s3Errors.AccessDenied()
    if (source.sizeBytes > copyBytesMax) {
      throw objectErrors.InvalidRequest(
        `The specified copy source is larger than the maximum allowable size for a copy source: ${copyBytesMax}`,
      )
    }
    const checksumAlgorithm = requireChecksumAlgorithm(headers['x-amz-checksum-algorithm'], checksums)
    const { attributes, isChanged } = copyAttributes(request, from, source)
    // A copy of a version by its id onto its own key restores the version: it becomes the newest one.
    const isSame = from.versionId === undefined && from.bucket === bucket && from.key === key
    // Such a copy removes or changes the customer's key.
    const hasSourceKey = headers['x-amz-copy-source-server-side-encryption-customer-algorithm'] !== undefined
    if (!isChanged && !hasSourceKey && checksumAlgorithm === undefined && isSame) {
      throw objectErrors.InvalidRequest(
        "This copy request is illegal because it is trying to copy an object to itself without changing the object's " +
          'metadata, storage class, website redirect location or encryption attributes.',
      )
    }
    const copied = await objects.copyObject({
      source,
      sourceCustomerKey: request.customerKey('copy-source'),
      bucket,
      key,
      attributes,
      checksumAlgorithm,
      conditions: allowedWriteConditions(request),
      origin: request.origin,
    })
    return {
      headers: {
        'x-amz-version-id': writtenVersionId(copied.versionId),
        'x-amz-copy-source-version-id': source.versionId === 'null' ? undefined : source.versionId,
        ...(await request.describeWritten({ bucket, key, ...copied })),
      },
      xml: {
        LastModified: isoTime(copied.modifiedMs),
        ETag: quoteEtag(copied.etag),
        ...checksumFields(copied.checksum),
      },
    }
  },
})

/** The directives select metadata and tags of the source or of the request; storage class and redirect always come from the request. */
function copyAttributes(
  request: S3Request,
  from: CopySource,
  source: ObjectVersion,
): { attributes: ObjectAttributes; isChanged: boolean } {
  const { headers } = request
  const given = request.readAttributes()
  const metadata = directive(headers['x-amz-metadata-directive'], 'x-amz-metadata-directive')
  const tagging = directive(headers['x-amz-tagging-directive'], 'x-amz-tagging-directive')
  if (tagging === 'COPY' && source.tags !== undefined) requireTagCopy(request, from)
  const { websiteRedirectLocation } = given.system
  const kept = { ...source.system, websiteRedirectLocation }
  const isChanged =
    metadata === 'REPLACE' ||
    headers['x-amz-storage-class'] !== undefined ||
    websiteRedirectLocation !== undefined ||
    given.encryptionRequest !== undefined
  return {
    attributes: {
      system: metadata === 'REPLACE' ? given.system : kept,
      user: metadata === 'REPLACE' ? given.user : source.user,
      storageClass: given.storageClass,
      tags: tagging === 'REPLACE' ? given.tags : source.tags,
      lock: given.lock,
      acl: given.acl,
      encryptionRequest: given.encryptionRequest,
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
