import type { BucketUsage, Bucket as StoredBucket } from 'svc/plugins/objects/api'
import { Type } from 'typebox'

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
    tags: Type.Optional(Type.Record(Type.String(), Type.String())),
    partial: Type.Boolean({ description: 'The caller may list only a part of the bucket, and sees no more of it.' }),
  },
  { $id: 'Bucket' },
)

export const BucketParameters = Type.Object({ bucket: Type.String({ minLength: 1, maxLength: 255 }) })

export function describePart({ name, createdMs, region }: StoredBucket, serverRegion: string) {
  return { name, created: new Date(createdMs).toISOString(), region: region || serverRegion, partial: true }
}

export function describeBucket(bucket: StoredBucket, usage: BucketUsage, serverRegion: string, isPublic: boolean) {
  const { objects, versions, deleteMarkers, sizeBytes } = usage
  return {
    ...describePart(bucket, serverRegion),
    versioning: bucket.versioning,
    objectLockEnabled: bucket.objectLock !== undefined,
    objects,
    versions,
    deleteMarkers,
    size: sizeBytes,
    quotaBytes: bucket.quotaBytes ?? 0,
    public: isPublic,
    tags: Object.fromEntries(bucket.tags),
    partial: false,
  }
}
