import { BucketParameters, defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { Cors, describeCors } from './cors-schema.ts'

export default defineAdminOperation({
  id: 'getBucketCors',
  method: 'GET',
  path: '/buckets/{bucket}/cors',
  tag: 'buckets',
  summary: 'Returns the CORS rules of a bucket; empty where there are none.',
  authorize: ['s3:GetBucketCORS'],
  params: BucketParameters,
  response: Cors,
  etag: true,
  errors: ['bucket_not_found'],
  uses: ['cors', 'objects'],
  async handle({ params: { bucket } }, { cors, objects }) {
    await objects.getBucket(bucket)
    const { rules, etag } = await cors.rules(bucket)
    return replyWith(describeCors(rules), { etag })
  },
})
