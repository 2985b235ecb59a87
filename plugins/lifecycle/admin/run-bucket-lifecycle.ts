import { BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { LifecycleRunResult } from './lifecycle-schema.ts'

export default defineAdminOperation({
  id: 'runBucketLifecycle',
  method: 'POST',
  path: '/buckets/{bucket}/lifecycle/run',
  tag: 'buckets',
  summary:
    'Applies the lifecycle rules of a bucket now. Refused while they are already being applied. A dry run counts what that would do.',
  authorize: ['s3:PutLifecycleConfiguration'],
  params: BucketParameters,
  body: Type.Object(
    { dryRun: Type.Optional(Type.Boolean({ description: 'Changes nothing.' })) },
    { $id: 'LifecycleRun', additionalProperties: false },
  ),
  bodyOptional: true,
  response: LifecycleRunResult,
  errors: ['bucket_not_found', 'conflict'],
  uses: ['lifecycle'],
  handle: ({ params: { bucket }, body }, { lifecycle }) =>
    body?.dryRun === true ? lifecycle.preview(bucket) : lifecycle.run(bucket),
})
