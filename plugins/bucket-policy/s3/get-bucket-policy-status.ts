import { defineS3Operation } from 'svc/plugins/s3/api'
import 'svc/plugins/policy/api'
import { requireDocument } from '../stored-document.ts'

export default defineS3Operation({
  name: 'GetBucketPolicyStatus',
  summary:
    'Says whether the policy of a bucket, or an access rule, allows something to everybody, and public access is not blocked.',
  match: { method: 'GET', level: 'bucket', query: ['policyStatus'] },
  action: 's3:GetBucketPolicyStatus',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'PolicyStatus' },
  errors: ['NoSuchBucket', 'NoSuchBucketPolicy'],
  uses: ['bucketPolicy', 'objects', 'policy'],
  async handle({ bucket }, { bucketPolicy, objects, policy: engine }) {
    await objects.getBucket(bucket)
    await engine.prepare(bucket)
    if (engine.hasPublicRules(bucket)) return { xml: { IsPublic: true } }
    const { policy } = requireDocument(bucket, await bucketPolicy.get(bucket))
    const isPublic = policy?.isPublic === true && !(await bucketPolicy.ignoresPublic(bucket))
    return { xml: { IsPublic: isPublic } }
  },
})
