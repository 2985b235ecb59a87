import { defineS3Operation } from 'svc/plugins/s3/api'
import { readUploadChecksum } from '../part-checksums.ts'

export default defineS3Operation({
  name: 'CreateMultipartUpload',
  summary: 'Begins an upload in parts.',
  match: { method: 'POST', level: 'object', query: ['uploads'] },
  action: 's3:PutObject',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'InitiateMultipartUploadResult' },
  errors: [
    'InvalidRedirectLocation',
    'InvalidRequest',
    'InvalidStorageClass',
    'KeyTooLongError',
    'MetadataTooLarge',
    'NoSuchBucket',
  ],
  uses: ['objects', 'checksums'],
  async handle(request, { objects, checksums }) {
    const { bucket, key } = request
    const { algorithm, type, isUnasked } = readUploadChecksum(request, checksums)
    const upload = await objects.createUpload({
      bucket,
      key,
      attributes: request.readAttributes(),
      checksumAlgorithm: algorithm,
      checksumType: type,
      isChecksumUnasked: isUnasked,
    })
    return {
      headers: {
        'x-amz-checksum-algorithm': isUnasked ? undefined : algorithm,
        'x-amz-checksum-type': isUnasked ? undefined : type,
        ...(await request.describeUpload(upload)),
      },
      xml: { Bucket: bucket, Key: key, UploadId: upload.uploadId },
    }
  },
})
