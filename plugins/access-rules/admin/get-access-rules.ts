import { defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import type {} from '../admin-service.ts'
import { AccessRulesDocument, BucketParameters } from './access-rules-schema.ts'

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
  uses: ['accessRules', 'accessRulesAdmin', 'objects'],
  async handle(request, { accessRules, accessRulesAdmin, objects }) {
    const { bucket } = request.params
    await objects.getBucket(bucket)
    const found = await accessRules.rules(bucket)
    return replyWith(await accessRulesAdmin.describe(request, bucket, found), { etag: found.etag })
  },
})
