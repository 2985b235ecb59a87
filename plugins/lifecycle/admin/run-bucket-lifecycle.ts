import { adminErrors, BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { predicatesOf } from '../rules.ts'
import { Lifecycle, LifecycleRunResult, readRules } from './lifecycle-schema.ts'

export default defineAdminOperation({
  id: 'runBucketLifecycle',
  method: 'POST',
  path: '/buckets/{bucket}/lifecycle/run',
  tag: 'buckets',
  summary:
    'Applies the lifecycle rules of a bucket now. Refused while they are already being applied. A dry run counts what that would do, and reads every version of the bucket; it needs `s3:ListBucketVersions` as well, and for rules with tags `s3:GetObjectTagging` of all objects.',
  authorize: ['s3:PutLifecycleConfiguration'],
  // The counts tell whether there are keys, sizes and tags of the rules.
  authorizeRequest: ({ params: { bucket }, body }) => ({
    bucket,
    actions: ['s3:PutLifecycleConfiguration', ...(body?.dryRun === true ? ['s3:ListBucketVersions'] : [])],
  }),
  params: BucketParameters,
  body: Type.Object(
    {
      dryRun: Type.Optional(Type.Boolean({ description: 'Changes nothing.' })),
      draft: Type.Optional(
        Type.Object(Lifecycle.properties, {
          additionalProperties: false,
          description: 'Of a dry run: counted instead of the rules that are stored, and not stored.',
        }),
      ),
      at: Type.Optional(
        Type.String({
          format: 'date-time',
          description:
            'Of a dry run: the time until which it counts. Default: now. Rules are applied now, at each midnight (UTC) until then, and then; counted is what has become of what exists now, each version once. An object that gets a delete marker and is removed as an old version later is `deleted` alone. To see all that these rules will delete, give now + `expiration.days` + `noncurrentDays` + 2 days (for a rule with a date: that date + `noncurrentDays` + 2 days).',
        }),
      ),
    },
    { $id: 'LifecycleRun', additionalProperties: false },
  ),
  bodyOptional: true,
  isBulk: true,
  response: LifecycleRunResult,
  errors: ['bucket_not_found', 'conflict', 'invalid_configuration'],
  uses: ['lifecycle'],
  async handle(request, { lifecycle }) {
    const { bucket } = request.params
    const { dryRun = false, draft, at } = request.body ?? {}
    const { response } = request.exchange
    if (!dryRun) {
      const field = [draft && 'draft', at && 'at'].find(name => name !== undefined)
      if (field !== undefined) throw adminErrors.invalid_argument(`/${field}: is of a dry run: send dryRun as well.`)
      return lifecycle.run(bucket)
    }
    // Read once: those that the caller has the right to count are those that are counted.
    const rules = draft === undefined ? (await lifecycle.configuration(bucket)).rules : readRules(draft.rules)
    if (rules.some(rule => rule.enabled && predicatesOf(rule).tags.length > 0)) {
      await request.authorize(['s3:GetObjectTagging'], { bucket, key: '*' })
    }
    return lifecycle.preview(bucket, rules, {
      atMs: at === undefined ? undefined : Date.parse(at),
      isGone: () => response.destroyed,
    })
  },
})
