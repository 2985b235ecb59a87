import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'GetBucketRequestPayment',
  summary: 'Says who pays for requests: always the owner of the bucket.',
  match: { method: 'GET', level: 'bucket', query: ['requestPayment'] },
  action: 's3:GetBucketRequestPayment',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'RequestPaymentConfiguration' },
  errors: ['NoSuchBucket'],
  uses: ['objects'],
  async handle({ bucket }, { objects }) {
    await objects.getBucket(bucket)
    return { xml: { Payer: 'BucketOwner' } }
  },
})
