import { defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { BucketParameters, bodyBytesMax, describePolicy, PolicyDocument, PolicyInput } from './policy-schema.ts'
import { writePolicy } from './write-policy.ts'

export default defineAdminOperation({
  id: 'putBucketPolicy',
  method: 'PUT',
  path: '/buckets/{bucket}/policy',
  tag: 'buckets',
  summary:
    'Replaces the policy of a bucket. The answer to an invalid policy has `errors`, with statement, line and column.',
  authorize: ['s3:PutBucketPolicy'],
  params: BucketParameters,
  body: PolicyInput,
  bodyBytesMax,
  response: PolicyDocument,
  etag: true,
  acceptsIfNoneMatch: true,
  errors: ['bucket_not_found', 'malformed_policy', 'precondition_failed', 'public_access_blocked'],
  uses: ['bucketPolicy', 'objects'],
  async handle({ params: { bucket }, body, ifMatch, ifNoneMatch }, { bucketPolicy, objects }) {
    await objects.getBucket(bucket)
    const { policy, etag } = await writePolicy(bucketPolicy, bucket, body, { ifMatch, ifNoneMatch })
    return replyWith(describePolicy(policy), { etag })
  },
})
