import { defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../admin-service.ts'
import { AccessRulesDocument, BucketParameters, changedBy, SentRule, sentRulesMax } from './access-rules-schema.ts'

const readOnly = { readOnly: true }

/** A document that was read can be sent back. */
const AccessRulesInput = Type.Object(
  {
    rules: Type.Array(SentRule, { maxItems: sentRulesMax, description: 'AccessRule; none removes them all.' }),
    bucket: Type.Optional(Type.Unknown(readOnly)),
    etag: Type.Optional(Type.Unknown(readOnly)),
    updatedAt: Type.Optional(Type.Unknown(readOnly)),
    updatedBy: Type.Optional(Type.Unknown(readOnly)),
    public: Type.Optional(Type.Unknown(readOnly)),
    blockPublic: Type.Optional(Type.Unknown(readOnly)),
    openings: Type.Optional(Type.Unknown(readOnly)),
    objectLists: Type.Optional(Type.Unknown(readOnly)),
    warnings: Type.Optional(Type.Unknown(readOnly)),
  },
  { $id: 'AccessRulesInput', additionalProperties: false },
)

export default defineAdminOperation({
  id: 'putAccessRules',
  method: 'PUT',
  path: '/buckets/{bucket}/access-rules',
  tag: 'access-rules',
  summary:
    'Replaces all access rules of a bucket in one change; an empty list removes them. `accessRuleErrors` has the errors of each rule.',
  authorize: ['admin:ManageAccessRules'],
  params: BucketParameters,
  query: Type.Object({
    dryRun: Type.Boolean({ default: false, description: 'Checks everything, with the warnings, and stores nothing.' }),
  }),
  body: AccessRulesInput,
  response: AccessRulesDocument,
  etag: true,
  errors: [
    'bucket_not_found',
    'invalid_access_rule',
    'precondition_failed',
    'public_access_blocked',
    'too_many_access_rules',
  ],
  uses: ['accessRules', 'accessRulesAdmin', 'objects'],
  async handle(request, { accessRules, accessRulesAdmin, objects }) {
    const { params, query, body, ifMatch, identity } = request
    const { bucket } = params
    await objects.getBucket(bucket)
    const stored = query.dryRun
      ? await accessRules.tryReplace(bucket, body.rules, { ifMatch })
      : await accessRules.replace(bucket, body.rules, changedBy(identity), { ifMatch })
    return replyWith(await accessRulesAdmin.describe(request, bucket, stored), { etag: stored.etag })
  },
})
