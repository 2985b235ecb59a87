import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'AbortMultipartUpload',
  summary: 'Ends an upload and removes its parts.',
  match: { method: 'DELETE', level: 'object', query: ['uploadId'] },
  action: 's3:AbortMultipartUpload',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['NoSuchBucket', 'NoSuchUpload'],
  uses: ['objects'],
  async handle({ bucket, key, query }, { objects }) {
    await objects.abortUpload(bucket, key, query.get('uploadId')!)
    return {}
  },
})
