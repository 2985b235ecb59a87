import { adminErrors, BucketParameters, defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
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
  query: Type.Object({
    dryRun: Type.Boolean({ default: false, description: 'Checks everything and stores nothing.' }),
  }),
  body: Lifecycle,
  response: Lifecycle,
  etag: true,
  errors: ['bucket_not_found', 'invalid_configuration', 'precondition_failed'],
  uses: ['lifecycle', 'objects'],
  async handle({ params: { bucket }, query, body, ifMatch }, { lifecycle, objects }) {
    await objects.getBucket(bucket)
    const wanted = readRules(body.rules)
    const { transitionMinimum, etag: present } = await lifecycle.configuration(bucket)
    if (query.dryRun) {
      if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== present) throw adminErrors.precondition_failed()
      return replyWith(describeLifecycle(wanted), { etag: present })
    }
    const { rules, etag } = await lifecycle.replace(bucket, wanted, { ifMatch, transitionMinimum })
    return replyWith(describeLifecycle(rules), { etag })
  },
})
