import { isCatalogError, type Services } from 'svc/kernel'
import type { EncryptionService } from 'svc/plugins/encryption/api'
import type { Bucket as StoredBucket } from 'svc/plugins/objects/api'
import { type Static, Type } from 'typebox'

/** Fields that a caller who may list only a part does not get are optional. */
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
    quotaBytes: Type.Optional(Type.Integer({ description: '0: no quota.' })),
    public: Type.Optional(
      Type.Boolean({
        description:
          'Everybody may do something in it: list, read or write, be it in one folder. Access control lists of objects do not count.',
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

export type BucketDescribers = Pick<Services, 'objects' | 'authSigv4' | 'policy' | 'encryption'>

export async function describeBucket(
  bucket: StoredBucket,
  { objects, authSigv4, policy, encryption }: BucketDescribers,
): Promise<Static<typeof Bucket>> {
  const usage = await objects.usage(bucket.name)
  const algorithm = await algorithmOf(bucket.name, encryption)
  return {
    ...describePart(bucket, authSigv4.region),
    versioning: bucket.versioning,
    objectLockEnabled: bucket.objectLock !== undefined,
    objects: usage.objects,
    versions: usage.versions,
    deleteMarkers: usage.deleteMarkers,
    size: usage.sizeBytes,
    quotaBytes: bucket.quotaBytes ?? 0,
    public: policy.isPublic(bucket.name),
    ...(algorithm !== undefined && { encryption: algorithm }),
    tags: Object.fromEntries(bucket.tags),
    partial: false,
  }
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
