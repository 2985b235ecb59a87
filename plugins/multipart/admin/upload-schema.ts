import type { Identity } from 'svc/plugins/iam/api'
import type { ObjectsService, UploadPart as StoredPart, Upload } from 'svc/plugins/objects/api'
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
    initiator: Type.String({ description: 'As in S3 lists: always the owner of the bucket.' }),
    contentType: Type.String(),
    storageClass: Type.String(),
    checksumAlgorithm: Type.Optional(Type.String()),
    encryption: Type.Optional(
      Type.Object({
        type: Type.Union([Type.Literal('SSE-S3'), Type.Literal('SSE-KMS'), Type.Literal('SSE-C')]),
        kmsKeyId: Type.Optional(Type.String({ description: 'With SSE-KMS.' })),
      }),
    ),
    minPartSize: Type.Integer({ description: 'Bytes; the last part may be smaller.' }),
    maxPartSize: Type.Integer(),
    maxParts: Type.Integer(),
    size: Type.Integer({ description: 'Bytes of all parts.' }),
    partCount: Type.Integer(),
    parts: Type.Optional(Type.Array(UploadPart, { description: 'By number; absent in lists.' })),
    partsTruncated: Type.Boolean({ description: 'True if there are more parts than were counted.' }),
  },
  { $id: 'UploadSession' },
)

/** Source: AWS S3 User Guide, "Amazon S3 multipart upload limits". */
const limits = { minPartSize: 5 * 1024 ** 2, maxPartSize: 5 * 1024 ** 3, maxParts: 10_000 }

/** The type of an upload that was begun without one, as in S3. */
const contentTypeDefault = 'binary/octet-stream'

const partsMax = limits.maxParts

/** Reads the parts of an upload and describes it without them. */
export async function describeUpload(upload: Upload, { displayName }: Identity, objects: ObjectsService) {
  const { uploadId, bucket, key, startedMs, attributes, checksumAlgorithm, encryption } = upload
  const { parts, isTruncated } = await objects.listParts(upload, 0, partsMax)
  const session = {
    uploadId,
    bucket,
    key,
    initiatedAt: new Date(startedMs).toISOString(),
    initiator: displayName,
    contentType: attributes.system.contentType ?? contentTypeDefault,
    storageClass: attributes.storageClass,
    ...(checksumAlgorithm === undefined ? undefined : { checksumAlgorithm }),
    ...(encryption === undefined ? undefined : { encryption: describeEncryption(encryption) }),
    ...limits,
    size: parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    partCount: parts.length,
    partsTruncated: isTruncated,
  }
  return { session, parts }
}

function describeEncryption({ type, kmsKeyId }: NonNullable<Upload['encryption']>) {
  return { type, ...(kmsKeyId === undefined ? undefined : { kmsKeyId }) }
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
