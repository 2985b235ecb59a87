import { defineS3Operation, isoTime, quoteEtag, readListSize } from 'svc/plugins/s3/api'
import { readPartMarker } from '../parameters.ts'
import { checksumElements, mayShowChecksums } from '../part-checksums.ts'

export default defineS3Operation({
  name: 'ListParts',
  summary: 'Lists the stored parts of an upload, by number.',
  match: { method: 'GET', level: 'object', query: ['uploadId'] },
  action: 's3:ListMultipartUploadParts',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'ListPartsResult' },
  errors: ['InvalidArgument', 'NoSuchBucket', 'NoSuchUpload'],
  uses: ['objects', 'iam'],
  async handle(request, { objects, iam }) {
    const { bucket, key, query } = request
    const marker = readPartMarker(query.get('part-number-marker'))
    const maxParts = readListSize(query.get('max-parts'), 'max-parts')
    const upload = await objects.getUpload(bucket, key, query.get('uploadId')!)
    const { parts, isTruncated } = await objects.listParts(upload, marker, maxParts)
    // Throws for a wrong customer's key.
    const headers = await request.describeUpload(upload)
    const showsChecksums = !upload.isChecksumUnasked && mayShowChecksums(request, upload)
    const owner = { ID: iam.owner.ownerId, DisplayName: iam.owner.displayName }
    return {
      headers,
      xml: {
        Bucket: bucket,
        Key: key,
        UploadId: upload.uploadId,
        Initiator: owner,
        Owner: owner,
        StorageClass: upload.attributes.storageClass,
        PartNumberMarker: marker,
        NextPartNumberMarker: parts.at(-1)?.partNumber ?? marker,
        MaxParts: maxParts,
        IsTruncated: isTruncated,
        ...checksumElements(upload),
        Part: parts.map(({ partNumber, modifiedMs, etag, sizeBytes, checksum }) => ({
          PartNumber: partNumber,
          LastModified: isoTime(modifiedMs),
          ETag: quoteEtag(etag),
          Size: sizeBytes,
          ...(checksum !== undefined && showsChecksums
            ? { [`Checksum${checksum.algorithm}`]: checksum.value }
            : undefined),
        })),
      },
    }
  },
})
