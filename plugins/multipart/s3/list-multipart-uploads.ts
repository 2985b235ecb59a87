import { defineS3Operation, isoTime, listingText, readListSize, requireEncodingType } from 'svc/plugins/s3/api'
import { checksumElements } from '../part-checksums.ts'

export default defineS3Operation({
  name: 'ListMultipartUploads',
  summary: 'Lists the uploads in progress, by key and then by start time.',
  match: { method: 'GET', level: 'bucket', query: ['uploads'] },
  action: 's3:ListBucketMultipartUploads',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'ListMultipartUploadsResult' },
  errors: ['InvalidArgument', 'NoSuchBucket'],
  uses: ['objects', 'iam'],
  async handle({ bucket, query, normalizeKey }, { objects, iam }) {
    const encoding = requireEncodingType(query.get('encoding-type'))
    const maxUploads = readListSize(query.get('max-uploads'), 'max-uploads')
    const prefix = normalizeKey(query.get('prefix') ?? '')
    const delimiter = query.get('delimiter') ?? ''
    const keyMarker = normalizeKey(query.get('key-marker') ?? '')
    // Without a key marker S3 ignores the upload id marker.
    const uploadIdMarker = keyMarker === '' ? '' : (query.get('upload-id-marker') ?? '')
    const page = await objects.listUploads({ bucket, prefix, delimiter, keyMarker, uploadIdMarker, maxUploads })
    const owner = { ID: iam.owner.ownerId, DisplayName: iam.owner.displayName }
    return {
      xml: {
        Bucket: bucket,
        KeyMarker: listingText(keyMarker, encoding),
        UploadIdMarker: uploadIdMarker,
        NextKeyMarker: page.isTruncated ? listingText(page.nextKeyMarker, encoding) : undefined,
        NextUploadIdMarker: page.isTruncated && page.nextUploadIdMarker !== '' ? page.nextUploadIdMarker : undefined,
        Delimiter: delimiter === '' ? undefined : listingText(delimiter, encoding),
        Prefix: listingText(prefix, encoding),
        EncodingType: encoding,
        MaxUploads: maxUploads,
        IsTruncated: page.isTruncated,
        Upload: page.uploads.map(upload => ({
          Key: listingText(upload.key, encoding),
          UploadId: upload.uploadId,
          Initiator: owner,
          Owner: owner,
          StorageClass: upload.attributes.storageClass,
          Initiated: isoTime(upload.startedMs),
          ...checksumElements(upload),
        })),
        CommonPrefixes: page.prefixes.map(found => ({ Prefix: listingText(found, encoding) })),
      },
    }
  },
})
