import { isCatalogError } from 'svc/kernel'
import type { ChecksumAlgorithm, ChecksumsService } from 'svc/plugins/checksums/api'
import { type CompleteRequest, type ObjectsService, objectErrors, type Upload } from 'svc/plugins/objects/api'
import {
  allowedWriteConditions,
  checksumFields,
  childrenNamed,
  childText,
  defineS3Operation,
  quoteEtag,
  type S3Request,
  s3Errors,
  unquoteEtag,
  writtenVersionId,
  type XmlNode,
} from 'svc/plugins/s3/api'
import { mayShowChecksums, partChecksums, readChecksumType } from '../part-checksums.ts'

const partsMax = 10_000

export default defineS3Operation({
  name: 'CompleteMultipartUpload',
  summary: 'Completes an upload: its parts become an object.',
  match: { method: 'POST', level: 'object', query: ['uploadId'] },
  action: 's3:PutObject',
  // 10 000 parts with their checksums.
  body: {
    kind: 'xml',
    root: 'CompleteMultipartUpload',
    elements: { Part: { PartNumber: 'text', ETag: 'text', ...partChecksums } },
    maxBytes: 4 * 1024 * 1024,
    // Each part has its number, its ETag and one checksum.
    elementsMax: 1 + partsMax * 4,
    checksumOf: 'object',
  },
  reply: { kind: 'xml', root: 'CompleteMultipartUploadResult' },
  isSlow: true,
  errors: [
    'AccessDenied',
    'BadDigest',
    'EntityTooLarge',
    'EntityTooSmall',
    'InvalidPart',
    'InvalidPartOrder',
    'InvalidRequest',
    'MalformedXML',
    'NoSuchBucket',
    'NoSuchKey',
    'NoSuchUpload',
    'NotImplemented',
    'PreconditionFailed',
  ],
  uses: ['objects', 'checksums'],
  before: ({ bucket, key, query }, { objects }) => objects.requireCompletable(bucket, key, query.get('uploadId')!),
  async handle(request, { objects, checksums }) {
    const { bucket, key, query, headers, xml, secure, host } = request
    const uploadId = query.get('uploadId')!
    const upload = await findUpload(request, objects)
    // Throws for a wrong customer's key, before the completion changes anything.
    if (upload !== undefined) await request.describeUpload(upload)
    const algorithm = upload?.checksumAlgorithm
    const completed = await objects.completeUpload({
      bucket,
      key,
      uploadId,
      parts: readParts(xml!, checksums, algorithm),
      checksum: readObjectChecksum(request, checksums),
      checksumType: readChecksumType(headers['x-amz-checksum-type'] as string | undefined),
      sizeBytes: readObjectSize(headers['x-amz-mp-object-size'] as string | undefined),
      conditions: allowedWriteConditions(request),
      origin: request.origin,
    })
    return {
      headers: {
        'x-amz-version-id': writtenVersionId(completed.versionId),
        ...(await request.describeWritten({ bucket, key, ...completed })),
      },
      xml: {
        Location: `${secure ? 'https' : 'http'}://${host}/${bucket}/${encodeURIComponent(key).replaceAll('%2F', '/')}`,
        Bucket: bucket,
        Key: key,
        ETag: quoteEtag(completed.etag),
        ...(mayShowChecksums(request, completed) ? checksumFields(completed.checksum) : undefined),
      },
    }
  },
})

type ListedPart = CompleteRequest['parts'][number]

/** Undefined also if the upload has ended: `completeUpload` finds out whether this is a repeated completion. */
async function findUpload({ bucket, key, query }: S3Request, objects: ObjectsService): Promise<Upload | undefined> {
  try {
    return await objects.getUpload(bucket, key, query.get('uploadId')!)
  } catch (error) {
    if (isCatalogError(error) && error.code === 'NoSuchUpload') return undefined
    throw error
  }
}

function readParts(
  xml: XmlNode,
  checksums: ChecksumsService,
  algorithm: ChecksumAlgorithm | undefined,
): readonly ListedPart[] {
  const nodes = childrenNamed(xml, 'Part')
  if (nodes.length === 0 || nodes.length > partsMax) {
    throw s3Errors.MalformedXML(`An upload is completed with 1 to ${partsMax} parts.`)
  }
  return nodes.map(node => {
    const number = childText(node, 'PartNumber')?.trim() ?? ''
    const etag = childText(node, 'ETag')
    if (!/^\d{1,9}$/.test(number) || etag === undefined) {
      throw s3Errors.MalformedXML('Each part needs a PartNumber and an ETag.')
    }
    const checksum = readPartChecksum(node, checksums)
    // A checksum of another algorithm was verified when the part was stored, and only the upload's own was kept.
    const isKept = checksum !== undefined && (algorithm !== 'CRC64NVME' || checksum.algorithm === algorithm)
    return { partNumber: Number(number), etag: unquoteEtag(etag), checksum: isKept ? checksum : undefined }
  })
}

function readPartChecksum(node: XmlNode, checksums: ChecksumsService): ListedPart['checksum'] {
  let found: ListedPart['checksum']
  for (const algorithm of checksums.algorithms) {
    const value = childText(node, `Checksum${algorithm}`)?.trim()
    if (value === undefined || value === '') continue
    if (found !== undefined) throw s3Errors.MalformedXML('A part has only one checksum.')
    found = { algorithm, value }
  }
  return found
}

function readObjectChecksum({ headers }: S3Request, checksums: ChecksumsService): CompleteRequest['checksum'] {
  for (const algorithm of checksums.algorithms) {
    const value = headers[checksums.header(algorithm)] as string | undefined
    if (value !== undefined) return { algorithm, value: value.trim() }
  }
  return undefined
}

function readObjectSize(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw objectErrors.InvalidArgument('The value of x-amz-mp-object-size is not a size.', {
    extra: { ArgumentName: 'x-amz-mp-object-size', ArgumentValue: text },
  })
}
