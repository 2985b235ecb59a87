import { adminErrors, BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { Lifecycle, LifecycleRunResult, readRules } from './lifecycle-schema.ts'

export default defineAdminOperation({
  id: 'runBucketLifecycle',
  method: 'POST',
  path: '/buckets/{bucket}/lifecycle/run',
  tag: 'buckets',
  summary:
    'Applies the lifecycle rules of a bucket now. Refused while they are already being applied. A dry run counts what that would do.',
  authorize: ['s3:PutLifecycleConfiguration'],
  params: BucketParameters,
  body: Type.Object(
    {
      dryRun: Type.Optional(Type.Boolean({ description: 'Changes nothing.' })),
      draft: Type.Optional(
        Type.Object(Lifecycle.properties, {
          additionalProperties: false,
          description:
            'Of a dry run: counted instead of the rules that are stored, and not stored. Reads the record of every version.',
        }),
      ),
      at: Type.Optional(
        Type.String({
          format: 'date-time',
          description:
            'Of a dry run: the time as of which it counts. Default: now. Rules count in days (UTC), so more is due at the next midnight.',
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
  handle({ params: { bucket }, body: { dryRun = false, draft, at } = {}, exchange: { response } }, { lifecycle }) {
    if (!dryRun) {
      const field = [draft && 'draft', at && 'at'].find(name => name !== undefined)
      if (field !== undefined) throw adminErrors.invalid_argument(`/${field}: is of a dry run: send dryRun as well.`)
      return lifecycle.run(bucket)
    }
    return lifecycle.preview(bucket, {
      draft: draft && readRules(draft.rules),
      atMs: at === undefined ? undefined : Date.parse(at),
      isGone: () => response.destroyed,
    })
  },
})
