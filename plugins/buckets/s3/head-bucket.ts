import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'HeadBucket',
  summary: 'Says whether a bucket exists, and in which region.',
  match: { method: 'HEAD', level: 'bucket' },
  action: 's3:ListBucket',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 200 },
  errors: ['NoSuchBucket'],
  uses: ['objects'],
  async handle({ bucket }, { objects }) {
    const { region } = await objects.getBucket(bucket)
    return {
      headers: {
        'x-amz-bucket-region': region,
        'x-amz-access-point-alias': 'false',
        'Content-Type': 'application/xml',
      },
    }
  },
})
