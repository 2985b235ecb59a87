import { BucketParameters, defineAdminOperation, invalidRules, replyWith } from 'svc/plugins/admin/api'
import { checkCorsRules } from '../rules.ts'
import { Cors, describeCors } from './cors-schema.ts'

export default defineAdminOperation({
  id: 'putBucketCors',
  method: 'PUT',
  path: '/buckets/{bucket}/cors',
  tag: 'buckets',
  summary: 'Replaces the CORS rules of a bucket; none removes them. What is wrong with which rule is in `ruleErrors`.',
  authorize: ['s3:PutBucketCORS'],
  params: BucketParameters,
  body: Cors,
  response: Cors,
  etag: true,
  errors: ['bucket_not_found', 'invalid_configuration', 'precondition_failed'],
  uses: ['cors', 'objects'],
  async handle({ params: { bucket }, body: { rules }, ifMatch }, { cors, objects }) {
    await objects.getBucket(bucket)
    const problems = checkCorsRules(rules)
    if (problems.length > 0) {
      throw invalidRules(
        problems.map(({ index, field, message }) => {
          const at = field === undefined ? {} : { field }
          return { rule: index, id: rules[index]?.id, ...at, code: 'InvalidRequest', message }
        }),
      )
    }
    const etag = await cors.replace(bucket, rules, { ifMatch })
    return replyWith(describeCors(rules), { etag })
  },
})
