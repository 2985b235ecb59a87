import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'GetBucketLocation',
  summary: 'Returns the region of a bucket; empty for us-east-1, as AWS does.',
  match: { method: 'GET', level: 'bucket', query: ['location'] },
  action: 's3:GetBucketLocation',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'LocationConstraint' },
  errors: ['NoSuchBucket'],
  uses: ['objects'],
  async handle({ bucket }, { objects }) {
    const { region } = await objects.getBucket(bucket)
    return { xml: region === 'us-east-1' ? '' : region }
  },
})
