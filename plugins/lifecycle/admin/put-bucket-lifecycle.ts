import { BucketParameters, defineAdminOperation, invalidRules, replyWith } from 'svc/plugins/admin/api'
import { checkLifecycleRules } from '../rules.ts'
import { describeLifecycle, Lifecycle, readRule, transitionProblems } from './lifecycle-schema.ts'

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
    const wanted = body.rules.map(readRule)
    const problems = [...transitionProblems(body.rules), ...checkLifecycleRules(wanted)]
    if (problems.length > 0) {
      throw invalidRules(
        problems.map(({ index, code, message }) => ({ rule: index, id: body.rules[index]?.id, code, message })),
      )
    }
    const { transitionMinimum } = await lifecycle.configuration(bucket)
    const { rules, etag } = await lifecycle.replace(bucket, wanted, { ifMatch, transitionMinimum })
    return replyWith(describeLifecycle(rules), { etag })
  },
})
