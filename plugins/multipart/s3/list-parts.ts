import { defineS3Operation, isoTime, quoteEtag, readListSize } from 'svc/plugins/s3/api'
import { readPartMarker } from '../parameters.ts'
import { mayTellChecksums, toldChecksum } from '../part-checksums.ts'

export default defineS3Operation({
  name: 'ListParts',
  summary: 'Lists the parts that an upload has so far, by number.',
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
    // Throws where a customer's key comes that is not that of the upload.
    const headers = await request.describeUpload(upload)
    const tellsChecksums = !upload.isChecksumUnasked && mayTellChecksums(request, upload)
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
        ...toldChecksum(upload),
        Part: parts.map(({ partNumber, modifiedMs, etag, sizeBytes, checksum }) => ({
          PartNumber: partNumber,
          LastModified: isoTime(modifiedMs),
          ETag: quoteEtag(etag),
          Size: sizeBytes,
          ...(checksum !== undefined && tellsChecksums
            ? { [`Checksum${checksum.algorithm}`]: checksum.value }
            : undefined),
        })),
      },
    }
  },
})
