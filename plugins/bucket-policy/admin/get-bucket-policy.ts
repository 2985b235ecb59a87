import { defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { bucketPolicyProblems } from '../errors.ts'
import { BucketParameters, describePolicy, PolicyDocument } from './policy-schema.ts'
import { readPolicy } from './read-policy.ts'

export default defineAdminOperation({
  id: 'getBucketPolicy',
  method: 'GET',
  path: '/buckets/{bucket}/policy',
  tag: 'buckets',
  summary: 'Returns the policy of a bucket.',
  authorize: ['s3:GetBucketPolicy'],
  params: BucketParameters,
  response: PolicyDocument,
  etag: true,
  errors: ['bucket_not_found', 'document_unreadable', 'policy_not_found'],
  uses: ['bucketPolicy', 'objects'],
  async handle({ params: { bucket } }, { bucketPolicy, objects }) {
    await objects.getBucket(bucket)
    const found = await readPolicy(bucketPolicy, bucket)
    if (found === undefined) throw bucketPolicyProblems.policy_not_found()
    return replyWith(describePolicy(found.policy), { etag: found.etag })
  },
})
