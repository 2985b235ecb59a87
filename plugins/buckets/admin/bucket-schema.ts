import { isCatalogError, type Services } from 'svc/kernel'
import type { AdminRequest } from 'svc/plugins/admin/api'
import type { EncryptionService } from 'svc/plugins/encryption/api'
import type { Bucket as StoredBucket } from 'svc/plugins/objects/api'
import { type Static, Type } from 'typebox'
import { contentEtagOf } from '../content-etag.ts'

/** Fields that a caller does not get who may list only a part, or may not read a setting, are optional. */
export const Bucket = Type.Object(
  {
    name: Type.String(),
    created: Type.String({ format: 'date-time', readOnly: true }),
    region: Type.String(),
    versioning: Type.Optional(Type.Union([Type.Literal('off'), Type.Literal('enabled'), Type.Literal('suspended')])),
    objectLockEnabled: Type.Optional(Type.Boolean()),
    objects: Type.Optional(Type.Integer({ description: 'Current versions that are no delete markers.' })),
    versions: Type.Optional(Type.Integer()),
    deleteMarkers: Type.Optional(Type.Integer()),
    size: Type.Optional(Type.Integer({ description: 'Bytes of all versions.' })),
    uploads: Type.Optional(Type.Integer({ description: 'Uploads that are not completed.' })),
    uploadsSize: Type.Optional(
      Type.Integer({ description: 'Bytes of the parts of these uploads; with `size`, what counts towards the quota.' }),
    ),
    contentEtag: Type.Optional(
      Type.String({
        readOnly: true,
        description:
          'ETag of what is in the bucket, for `If-Match` of `deleteBucket`: of its date and of these numbers of versions, delete markers, uploads and bytes.',
      }),
    ),
    quotaBytes: Type.Optional(Type.Integer({ description: '0: no quota.' })),
    public: Type.Optional(
      Type.Boolean({
        description:
          'Everybody may do something in it: list, read or write, be it in one folder. Access control lists of objects do not count.',
      }),
    ),
    published: Type.Optional(
      Type.Boolean({
        description:
          'A distribution shows objects of it to everybody. Restrictions of the distribution, such as addresses, do not count.',
      }),
    ),
    encryption: Type.Optional(
      Type.Union([Type.Literal('none'), Type.Literal('AES256'), Type.Literal('aws:kms')], {
        description:
          'Of new objects whose writers ask for none: `AES256` is SSE-S3, `aws:kms` SSE-KMS. Absent where the stored setting cannot be read.',
      }),
    ),
    tags: Type.Optional(Type.Record(Type.String(), Type.String())),
    partial: Type.Boolean({ description: 'The caller may list only a part of the bucket, and sees no more of it.' }),
  },
  { $id: 'Bucket' },
)

export const BucketParameters = Type.Object({ bucket: Type.String({ minLength: 1, maxLength: 255 }) })

export function describePart({ name, createdMs, region }: StoredBucket, serverRegion: string) {
  return { name, created: new Date(createdMs).toISOString(), region: region || serverRegion, partial: true }
}

export type BucketDescribers = Pick<Services, 'objects' | 'authSigv4' | 'policy' | 'encryption'> & {
  readonly isPublished: (bucket: string) => Promise<boolean>
}

/** Whether the caller may do one of these with the bucket. */
type MayDoAny = (...actions: string[]) => boolean

/** The bucket, with the settings that the operations about them would show to the caller. */
export async function describeBucket(
  bucket: StoredBucket,
  { objects, authSigv4, policy, encryption, isPublished }: BucketDescribers,
  mayDoAny: MayDoAny,
): Promise<Static<typeof Bucket>> {
  await policy.prepare(bucket.name)
  const usage = mayDoAny('s3:ListBucket') ? await objects.usage(bucket.name) : undefined
  const algorithm = mayDoAny('s3:GetEncryptionConfiguration') ? await algorithmOf(bucket.name, encryption) : undefined
  return {
    ...describePart(bucket, authSigv4.region),
    ...(mayDoAny('s3:GetBucketVersioning') && { versioning: bucket.versioning }),
    ...(mayDoAny('s3:GetBucketObjectLockConfiguration') && { objectLockEnabled: bucket.objectLock !== undefined }),
    ...(usage !== undefined && {
      objects: usage.objects,
      versions: usage.versions,
      deleteMarkers: usage.deleteMarkers,
      size: usage.sizeBytes,
      uploads: usage.uploads,
      uploadsSize: usage.uploadBytes,
      contentEtag: contentEtagOf(bucket, usage),
    }),
    ...(mayDoAny('admin:GetBucketQuota') && { quotaBytes: bucket.quotaBytes ?? 0 }),
    ...(mayDoAny('s3:GetBucketPolicyStatus', 's3:GetBucketPolicy', 'admin:ManageAccessRules') && {
      public: policy.isPublic(bucket.name),
      published: await isPublished(bucket.name),
    }),
    ...(algorithm !== undefined && { encryption: algorithm }),
    ...(mayDoAny('s3:GetBucketTagging') && { tags: Object.fromEntries(bucket.tags) }),
    partial: false,
  }
}

/** For `describeBucket`: the rights of the caller of a request. */
export function rightsOn(bucket: string, { isAllowed }: Pick<AdminRequest, 'isAllowed'>): MayDoAny {
  return (...actions) => actions.some(action => isAllowed(action, bucket))
}

async function algorithmOf(bucket: string, encryption: EncryptionService) {
  try {
    return (await encryption.configuration(bucket))?.algorithm ?? 'none'
  } catch (error) {
    // A setting that cannot be read refuses writes, which say why. The list goes on.
    if (isCatalogError(error)) return undefined
    throw error
  }
}
