import { BucketParameters, defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { describeLifecycle, Lifecycle, readRules } from './lifecycle-schema.ts'

export default defineAdminOperation({
  id: 'putBucketLifecycle',
  method: 'PUT',
  path: '/buckets/{bucket}/lifecycle',
  tag: 'buckets',
  summary:
    'Replaces the lifecycle rules of a bucket; an empty list removes all. `ruleErrors` has the problems of each rule.',
  authorize: ['s3:PutLifecycleConfiguration'],
  params: BucketParameters,
  body: Lifecycle,
  response: Lifecycle,
  etag: true,
  errors: ['bucket_not_found', 'invalid_configuration', 'precondition_failed'],
  uses: ['lifecycle', 'objects'],
  async handle({ params: { bucket }, body, ifMatch }, { lifecycle, objects }) {
    await objects.getBucket(bucket)
    const wanted = readRules(body.rules)
    const { transitionMinimum } = await lifecycle.configuration(bucket)
    const { rules, etag } = await lifecycle.replace(bucket, wanted, { ifMatch, transitionMinimum })
    return replyWith(describeLifecycle(rules), { etag })
  },
})
