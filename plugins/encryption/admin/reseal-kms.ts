import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'

const count = (description: string) => Type.Integer({ description })

export default defineAdminOperation({
  id: 'resealKms',
  method: 'POST',
  path: '/kms/reseal',
  tag: 'kms',
  summary:
    'Rewraps the data keys of versions and uploads with SSE-S3 and SSE-KMS that are not wrapped under the current keys. The data is not rewritten.',
  authorize: ['admin:KMSReseal'],
  query: Type.Object({
    bucket: Type.Optional(
      Type.String({ description: 'Default: all. Former keys stay needed until all were rewrapped in one request.' }),
    ),
  }),
  // Has no fields: a `bucket` in the body is refused instead of ignored, which would rewrap the data keys of all buckets.
  body: Type.Object({}, { $id: 'ResealRequest' }),
  bodyOptional: true,
  response: Type.Object(
    {
      buckets: count('Buckets that were checked.'),
      versions: count('Versions with SSE-S3 or SSE-KMS.'),
      uploads: count('Uploads in progress with SSE-S3 or SSE-KMS.'),
      resealed: count('Versions and uploads whose data key was rewrapped.'),
      failed: count('Versions and uploads whose data key could not be rewrapped.'),
      firstError: Type.String({ description: 'Message of the first failure; empty if none failed.' }),
      formerKeys: Type.Optional(
        count(
          'Former master keys that the running server has. They are no longer needed once all were rewrapped in one request without failures; 0 says nothing about keys that the server was not started with. Absent with a key server.',
        ),
      ),
    },
    { $id: 'ResealResult' },
  ),
  errors: ['bucket_not_found', 'conflict', 'not_implemented'],
  uses: ['encryption'],
  handle: ({ query: { bucket } }, { encryption }) => encryption.reseal(bucket),
})
