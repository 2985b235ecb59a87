import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'

const count = (description: string) => Type.Integer({ description })

export default defineAdminOperation({
  id: 'resealKms',
  method: 'POST',
  path: '/kms/reseal',
  tag: 'kms',
  summary:
    'Seals the data keys of versions and uploads with SSE-S3 and SSE-KMS under the present keys, where they are not. Data is not written again.',
  authorize: ['admin:KMSReseal'],
  query: Type.Object({ bucket: Type.Optional(Type.String({ description: 'Default: all.' })) }),
  // None, that a field which was meant to say which bucket is not ignored, and all are walked.
  body: Type.Object({}, { $id: 'ResealRequest' }),
  bodyOptional: true,
  response: Type.Object(
    {
      buckets: count('That were walked.'),
      versions: count('That are encrypted under keys of the key management.'),
      uploads: count('The same of uploads in progress.'),
      resealed: count('Of both, those that were sealed anew.'),
      failed: count('Of both, those that could not be.'),
      firstError: Type.String({ description: 'Of the first of them; empty without.' }),
    },
    { $id: 'ResealResult' },
  ),
  errors: ['bucket_not_found', 'conflict', 'not_implemented'],
  uses: ['encryption'],
  handle: ({ query: { bucket } }, { encryption }) => encryption.reseal(bucket),
})
