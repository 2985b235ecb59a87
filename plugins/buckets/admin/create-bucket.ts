import { isCatalogError } from 'svc/kernel'
import { adminErrors, checkField, defineAdminOperation, invalidFields, passAll } from 'svc/plugins/admin/api'
import { requireNewBucketName, type Tags } from 'svc/plugins/objects/api'
import { readTags } from 'svc/plugins/tagging/api'
import { Type } from 'typebox'
import type {} from '../publications.ts'
import { Bucket, describeBucket } from './bucket-schema.ts'

const CreateBucket = Type.Object(
  {
    name: Type.String({ maxLength: 255 }),
    region: Type.Optional(Type.String({ maxLength: 256, description: 'The region of the server, and no other.' })),
    versioning: Type.Optional(Type.Boolean({ description: 'Implied by `objectLock`.' })),
    objectLock: Type.Optional(Type.Boolean()),
    quotaBytes: Type.Optional(Type.Integer({ description: `0 to ${Number.MAX_SAFE_INTEGER}; 0: no quota.` })),
    tags: Type.Optional(
      Type.Record(Type.String({ maxLength: 1024 }), Type.String({ maxLength: 1024 }), { maxProperties: 500 }),
    ),
    created: Type.Optional(Type.String({ readOnly: true })),
  },
  { $id: 'CreateBucket' },
)

export default defineAdminOperation({
  id: 'createBucket',
  method: 'POST',
  path: '/buckets',
  tag: 'buckets',
  summary: 'Creates a bucket. Versioning, object lock, quota and tags need their own actions on top.',
  authorize: ['s3:CreateBucket'],
  authorizeRequest: ({ body: { name, versioning, objectLock, quotaBytes = 0, tags = {} } }) => ({
    bucket: name,
    actions: [
      's3:CreateBucket',
      ...(versioning === true || objectLock === true ? ['s3:PutBucketVersioning'] : []),
      ...(objectLock === true ? ['s3:PutBucketObjectLockConfiguration'] : []),
      ...(Object.keys(tags).length > 0 ? ['s3:PutBucketTagging'] : []),
      ...(quotaBytes > 0 ? ['admin:SetBucketQuota'] : []),
    ],
  }),
  body: CreateBucket,
  response: Bucket,
  location: ({ name }) => `/buckets/${name}`,
  errors: ['already_exists', 'invalid_bucket_name'],
  uses: ['objects', 'iam', 'authSigv4', 'policy', 'encryption', 'publications'],
  async handle({ body }, { iam, publications, ...services }) {
    const { objects, authSigv4 } = services
    const { region } = authSigv4
    const { name, objectLock = false, versioning = false, quotaBytes = 0 } = body
    let tags: Tags | undefined
    await passAll([
      () => checkField('/name', () => requireNewBucketName(name)),
      () => {
        if (quotaBytes < 0) throw invalidFields([{ element: '/quotaBytes', message: 'must be >= 0' }])
        if (quotaBytes > Number.MAX_SAFE_INTEGER)
          throw invalidFields([{ element: '/quotaBytes', message: `must be <= ${Number.MAX_SAFE_INTEGER}` }])
      },
      () => {
        tags = body.tags && readTags(body.tags, 'bucket')
      },
    ])
    if (body.region !== undefined && body.region !== region) {
      throw invalidFields([{ element: '/region', message: `is not that of this server, ${region}` }])
    }
    // One commit: there is no bucket without what it was to have.
    const wanted = { region, owner: iam.owner, versioning, objectLock, quotaBytes, tags }
    const bucket = await checkField('/name', () =>
      objects.createBucket(name, wanted).catch(error => refuse(error, name)),
    )
    // Nothing is in it but what the caller has named.
    return describeBucket(bucket, { ...services, isPublished: await publications.current() }, () => true)
  },
})

/** S3's own sentences are made for clients that send the same request twice. */
function refuse(error: unknown, name: string): never {
  if (!isCatalogError(error) || !/^BucketAlready/.test(error.code)) throw error
  throw adminErrors.already_exists(`There is a bucket "${name}" already.`, { cause: error })
}
