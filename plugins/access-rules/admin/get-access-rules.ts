import { defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { AccessRulesDocument, BucketParameters, describeRules } from './access-rules-schema.ts'

export default defineAdminOperation({
  id: 'getAccessRules',
  method: 'GET',
  path: '/buckets/{bucket}/access-rules',
  tag: 'access-rules',
  summary: 'Returns the access rules of a bucket, with warnings about public access and about rules that never decide.',
  authorize: [['admin:ManageAccessRules', 's3:GetBucketPolicy']],
  params: BucketParameters,
  response: AccessRulesDocument,
  etag: true,
  errors: ['bucket_not_found'],
  uses: ['accessRules', 'objects', 'ports'],
  async handle({ params: { bucket } }, { accessRules, objects, ports: { clock } }) {
    await objects.getBucket(bucket)
    const found = await accessRules.rules(bucket)
    return replyWith(await describeRules(bucket, found, accessRules, clock), { etag: found.etag })
  },
})
