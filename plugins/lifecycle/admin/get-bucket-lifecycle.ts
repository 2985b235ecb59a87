import { BucketParameters, defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { describeLifecycle, Lifecycle } from './lifecycle-schema.ts'

export default defineAdminOperation({
  id: 'getBucketLifecycle',
  method: 'GET',
  path: '/buckets/{bucket}/lifecycle',
  tag: 'buckets',
  summary: 'Returns the lifecycle rules of a bucket; empty if there are none.',
  authorize: ['s3:GetLifecycleConfiguration'],
  params: BucketParameters,
  response: Lifecycle,
  etag: true,
  errors: ['bucket_not_found'],
  uses: ['lifecycle', 'objects'],
  async handle({ params: { bucket } }, { lifecycle, objects }) {
    await objects.getBucket(bucket)
    const { rules, etag } = await lifecycle.configuration(bucket)
    return replyWith(describeLifecycle(rules), { etag })
  },
})
