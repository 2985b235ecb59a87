import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { applyPreset } from './apply-preset.ts'
import { BucketParameters } from './policy-schema.ts'
import { describeAccess, SimpleAccess } from './simple-access-schema.ts'

const SetSimpleAccess = Type.Object(
  {
    prefix: Type.String({
      default: '',
      maxLength: 1024,
      description: 'Of keys, a folder with its `/` at the end; empty is the whole bucket.',
    }),
    preset: Type.Union(
      [
        Type.Literal('private'),
        Type.Literal('download'),
        Type.Literal('download-list'),
        Type.Literal('upload'),
        Type.Literal('public'),
      ],
      {
        description:
          'Rights of everybody: none, read objects whose names are known, read and list, write without reading, or read, write, delete and list.',
      },
    ),
  },
  { $id: 'SetSimpleAccess' },
)

export default defineAdminOperation({
  id: 'setBucketAccess',
  method: 'PUT',
  path: '/buckets/{bucket}/access',
  tag: 'buckets',
  summary:
    'Sets the preset of a prefix as statements of the policy; `private` removes it. Other statements stay. A prefix is the beginning of keys: end it with `/` to mean a folder, or `pub` opens `public.txt` and `pubs/x` as well.',
  authorize: ['s3:PutBucketPolicy'],
  params: BucketParameters,
  body: SetSimpleAccess,
  response: SimpleAccess,
  errors: ['bucket_not_found', 'conflict', 'document_unreadable', 'malformed_policy', 'public_access_blocked'],
  uses: ['bucketPolicy', 'objects', 'policy'],
  async handle({ params: { bucket }, body: { prefix, preset } }, { bucketPolicy, objects, policy }) {
    await objects.getBucket(bucket)
    await applyPreset(bucketPolicy, bucket, prefix, preset)
    return describeAccess(bucketPolicy, policy, bucket)
  },
})
