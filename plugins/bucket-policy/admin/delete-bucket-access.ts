import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { applyPreset } from './apply-preset.ts'
import { BucketParameters } from './policy-schema.ts'

export default defineAdminOperation({
  id: 'deleteBucketAccess',
  method: 'DELETE',
  path: '/buckets/{bucket}/access',
  tag: 'buckets',
  summary: 'Removes the preset of a prefix, as the preset `private` does. Without a prefix, all presets of the bucket.',
  authorize: ['s3:PutBucketPolicy'],
  params: BucketParameters,
  query: Type.Object({
    prefix: Type.Optional(
      Type.String({ maxLength: 1024, description: 'Of keys; empty is the preset of the whole bucket.' }),
    ),
  }),
  errors: ['bucket_not_found', 'conflict', 'document_unreadable'],
  uses: ['bucketPolicy', 'objects'],
  async handle({ params: { bucket }, query: { prefix } }, { bucketPolicy, objects }) {
    await objects.getBucket(bucket)
    await applyPreset(bucketPolicy, bucket, prefix, 'private')
  },
})
