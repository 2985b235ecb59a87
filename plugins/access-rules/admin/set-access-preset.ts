import { isCatalogError } from 'svc/kernel'
import { adminErrors, defineAdminOperation, invalidFields, replyWith } from 'svc/plugins/admin/api'
import { type Static, Type } from 'typebox'
import type {} from '../admin-service.ts'
import type { AccessRulesService, RulesOfBucket } from '../api.ts'
import { accessRuleErrors } from '../errors.ts'
import { type Preset, withPreset } from '../presets.ts'
import { Match } from '../rule.ts'
import { AccessRulesDocument, BucketParameters, changedBy } from './access-rules-schema.ts'

const PresetRequest = Type.Object(
  {
    preset: Type.Union(
      [
        Type.Literal('private'),
        Type.Literal('public-read'),
        Type.Literal('public-read-list'),
        Type.Literal('public-prefix'),
        Type.Literal('public-write'),
        Type.Literal('custom'),
      ],
      {
        description:
          'private removes the rules of presets and every rule that allows everybody something; custom the former alone.',
      },
    ),
    match: Type.Optional(Match),
    confirm: Type.Optional(Type.Boolean({ description: 'public-write needs it.' })),
  },
  { $id: 'PresetRequest', additionalProperties: false },
)

/** Bounds the attempts when others keep changing the rules. */
const attemptsMax = 16

export default defineAdminOperation({
  id: 'setAccessPreset',
  method: 'POST',
  path: '/buckets/{bucket}/access-rules/public',
  tag: 'access-rules',
  summary:
    'Replaces the preset rules of a bucket (those that allow, `preset-…`) by those of another preset, and keeps its other rules; `private` also removes every rule that allows something to everybody.',
  authorize: ['admin:ManageAccessRules'],
  params: BucketParameters,
  body: PresetRequest,
  response: AccessRulesDocument,
  etag: true,
  errors: [
    'bucket_not_found',
    'confirmation_required',
    'invalid_access_rule',
    'precondition_failed',
    'public_access_blocked',
    'too_many_access_rules',
  ],
  uses: ['accessRules', 'accessRulesAdmin', 'objects', 'policy'],
  async handle(request, { accessRules, accessRulesAdmin, objects, policy }) {
    const { params, body, ifMatch, identity } = request
    const { bucket } = params
    await objects.getBucket(bucket)
    requireFitting(body)
    const stored = await applyPreset(accessRules, bucket, body, ifMatch, changedBy(identity))
    const view = await accessRulesAdmin.describe(request, bucket, stored)
    await policy.prepare(bucket)
    if (body.preset === 'private' && policy.isPublic(bucket)) view.warnings.push(stillPublic(bucket))
    return replyWith(view, { etag: stored.etag })
  },
})

const stillPublic = (bucket: string) =>
  `The bucket is still public, by its policy or its access control list: svcctl admin bucket policy delete ALIAS/${bucket} removes the ` +
  `policy, and svcctl access block-public ALIAS/${bucket} on blocks both.`

function requireFitting({ preset, match, confirm }: Static<typeof PresetRequest>): void {
  const takesMatch: readonly Preset[] = ['public-prefix', 'public-write']
  if (preset === 'public-prefix' && match === undefined) {
    throw invalidFields([{ element: '/match', message: 'is missing: public-prefix needs it to select keys' }])
  }
  if (match !== undefined && !takesMatch.includes(preset)) {
    throw invalidFields([{ element: '/match', message: `cannot be combined with ${preset}` }])
  }
  if (preset === 'public-write' && confirm !== true) throw accessRuleErrors.confirmation_required()
}

/** Applies the preset. Changes by others are not lost, even without `If-Match`. */
async function applyPreset(
  accessRules: AccessRulesService,
  bucket: string,
  { preset, match }: Static<typeof PresetRequest>,
  ifMatch: string | undefined,
  updatedBy: string,
): Promise<RulesOfBucket> {
  for (let attempt = 1; ; attempt++) {
    const { rules, etag } = await accessRules.rules(bucket)
    try {
      const preconditions = { ifMatch: ifMatch === undefined || ifMatch === '*' ? etag : ifMatch }
      return await accessRules.replace(bucket, withPreset(rules, preset, match), updatedBy, preconditions)
    } catch (error) {
      const isChanged = ifMatch === undefined && isCatalogError(error) && error.code === 'precondition_failed'
      if (!isChanged) throw error
      if (attempt === attemptsMax) {
        throw adminErrors.conflict('Other requests keep changing the rules: try again.', { cause: error })
      }
    }
  }
}
