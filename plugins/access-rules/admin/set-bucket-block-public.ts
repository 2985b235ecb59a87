import { authorizeChange, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { BlockPublicAccess, BucketParameters, blockActions, replyWithBlock } from './block-public-schema.ts'

const SetBucketBlockPublic = Type.Object(
  { enabled: Type.Boolean({ description: 'Sets or removes all four flags of the public access block.' }) },
  { $id: 'SetBucketBlockPublic', additionalProperties: false },
)

export default defineAdminOperation({
  id: 'setBucketBlockPublic',
  method: 'PUT',
  path: '/buckets/{bucket}/block-public',
  tag: 'access-rules',
  summary:
    'Blocks public access to a bucket, or removes its block. In force from the next request on, also if the bucket was public before.',
  authorize: [blockActions.bucket.change],
  authorizeRequest: authorizeChange(blockActions.bucket.change, blockActions.bucket.read),
  params: BucketParameters,
  body: SetBucketBlockPublic,
  response: BlockPublicAccess,
  etag: true,
  errors: ['bucket_not_found', 'precondition_failed'],
  uses: ['objectOwnership', 'objects'],
  async handle({ params: { bucket }, body: { enabled }, ifMatch }, { objectOwnership, objects }) {
    await objects.getBucket(bucket)
    const block = {
      blockPublicAcls: true,
      ignorePublicAcls: true,
      blockPublicPolicy: true,
      restrictPublicBuckets: true,
    }
    await objectOwnership.setPublicAccessBlock(bucket, enabled ? block : undefined, ifMatch)
    return replyWithBlock(bucket, objectOwnership)
  },
})
