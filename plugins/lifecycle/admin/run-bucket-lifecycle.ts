import { BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'
import { LifecycleRunResult } from './lifecycle-schema.ts'

export default defineAdminOperation({
  id: 'runBucketLifecycle',
  method: 'POST',
  path: '/buckets/{bucket}/lifecycle/run',
  tag: 'buckets',
  summary: 'Applies the lifecycle rules of a bucket now. Refused while they are already being applied.',
  authorize: ['s3:PutLifecycleConfiguration'],
  params: BucketParameters,
  response: LifecycleRunResult,
  errors: ['bucket_not_found', 'conflict'],
  uses: ['lifecycle'],
  handle: ({ params: { bucket } }, { lifecycle }) => lifecycle.run(bucket),
})
