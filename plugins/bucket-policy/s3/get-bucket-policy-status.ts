import { defineS3Operation } from 'svc/plugins/s3/api'
import { requireDocument } from '../stored-document.ts'

export default defineS3Operation({
  name: 'GetBucketPolicyStatus',
  summary: 'Says whether the policy of a bucket allows something to everybody, and public access is not blocked.',
  match: { method: 'GET', level: 'bucket', query: ['policyStatus'] },
  action: 's3:GetBucketPolicyStatus',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'PolicyStatus' },
  errors: ['NoSuchBucket', 'NoSuchBucketPolicy'],
  uses: ['bucketPolicy', 'objects'],
  async handle({ bucket }, { bucketPolicy, objects }) {
    await objects.getBucket(bucket)
    const { policy } = requireDocument(bucket, await bucketPolicy.get(bucket))
    const isPublic = policy?.isPublic === true && !(await bucketPolicy.ignoresPublic(bucket))
    return { xml: { IsPublic: isPublic } }
  },
})
