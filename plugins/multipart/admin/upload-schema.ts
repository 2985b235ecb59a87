import type { UploadPart as StoredPart, Upload } from 'svc/plugins/objects/api'
import { Type } from 'typebox'

export const UploadPart = Type.Object(
  {
    partNumber: Type.Integer(),
    size: Type.Integer({ description: 'Bytes.' }),
    etag: Type.String({ description: 'Without quotes.' }),
    checksum: Type.Optional(Type.String({ description: 'Base64.' })),
    lastModified: Type.String({ format: 'date-time' }),
  },
  { $id: 'UploadPart' },
)

export const UploadSession = Type.Object(
  {
    uploadId: Type.String(),
    bucket: Type.String(),
    key: Type.String(),
    initiatedAt: Type.String({ format: 'date-time' }),
    contentType: Type.Optional(Type.String()),
    storageClass: Type.String(),
    checksumAlgorithm: Type.Optional(Type.String()),
    minPartSize: Type.Integer({ description: 'Bytes; the last part may be smaller.' }),
    maxPartSize: Type.Integer(),
    maxParts: Type.Integer(),
    size: Type.Optional(Type.Integer({ description: 'Bytes of all parts; not in lists.' })),
    partCount: Type.Optional(Type.Integer({ description: 'Not in lists.' })),
    parts: Type.Optional(Type.Array(UploadPart, { description: 'By number; not in lists.' })),
    partsTruncated: Type.Optional(Type.Boolean()),
  },
  { $id: 'UploadSession' },
)

/** Source: AWS S3 User Guide, "Amazon S3 multipart upload limits". */
const limits = { minPartSize: 5 * 1024 ** 2, maxPartSize: 5 * 1024 ** 3, maxParts: 10_000 }

/** What has just been begun. */
export function describeNewUpload(upload: Upload) {
  return { ...describeUpload(upload), size: 0, partCount: 0, parts: [], partsTruncated: false }
}

export function describeUpload({ uploadId, bucket, key, startedMs, attributes, checksumAlgorithm }: Upload) {
  const { contentType } = attributes.system
  return {
    uploadId,
    bucket,
    key,
    initiatedAt: new Date(startedMs).toISOString(),
    ...(contentType === undefined ? undefined : { contentType }),
    storageClass: attributes.storageClass,
    ...(checksumAlgorithm === undefined ? undefined : { checksumAlgorithm }),
    ...limits,
  }
}

export function describePart({ partNumber, sizeBytes, etag, checksum, modifiedMs }: StoredPart) {
  return {
    partNumber,
    size: sizeBytes,
    etag,
    ...(checksum === undefined ? undefined : { checksum: checksum.value }),
    lastModified: new Date(modifiedMs).toISOString(),
  }
}
