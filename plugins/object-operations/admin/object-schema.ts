import { hash } from 'node:crypto'
import type {
  ObjectSummary as ListedObject,
  ObjectAttributes,
  ObjectVersion,
  PutResult,
  VersionSummary,
} from 'svc/plugins/objects/api'
import { canonicalJson } from 'svc/plugins/sealing/api'
import { Type } from 'typebox'

/** Fields that listings do not have are optional. */
const summaryFields = {
  key: Type.String(),
  versionId: Type.String({ description: '`null` for a version that was written without versioning.' }),
  size: Type.Integer({ description: 'Bytes.' }),
  etag: Type.String({ description: 'Without quotes; empty for a delete marker.' }),
  lastModified: Type.String({ format: 'date-time' }),
  contentType: Type.Optional(Type.String({ description: 'Absent for a delete marker.' })),
  isDeleteMarker: Type.Boolean(),
  isLatest: Type.Boolean(),
  storageClass: Type.String(),
}

export const ObjectSummary = Type.Object(summaryFields, { $id: 'ObjectSummary' })

export const ObjectDetail = Type.Object(
  {
    ...summaryFields,
    contentEncoding: Type.Optional(Type.String()),
    contentDisposition: Type.Optional(Type.String()),
    contentLanguage: Type.Optional(Type.String()),
    cacheControl: Type.Optional(Type.String()),
    expires: Type.Optional(Type.String()),
    userMetadata: Type.Record(Type.String(), Type.String()),
    parts: Type.Integer({ description: 'Number of parts of its upload; 0 if it was stored in one piece.' }),
    checksumAlgorithm: Type.Optional(Type.String()),
    checksum: Type.Optional(Type.String({ description: 'Base64. Absent with SSE-C.' })),
    encryption: Type.Optional(
      Type.Object(
        {
          type: Type.Union([Type.Literal('SSE-S3'), Type.Literal('SSE-KMS'), Type.Literal('SSE-C')]),
          kmsKeyId: Type.Optional(Type.String({ description: 'With SSE-KMS.' })),
        },
        { description: 'Absent if the bytes are not encrypted.' },
      ),
    ),
    metadataEtag: Type.Optional(
      Type.String({ description: 'Of the content with its headers and metadata, for If-Match of setObjectMetadata.' }),
    ),
    tags: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'Only for callers who may read the tags.' }),
    ),
    tagsEtag: Type.Optional(Type.String({ description: 'With `tags`: their ETag, for If-Match of setObjectTags.' })),
    versions: Type.Optional(
      Type.Array(ObjectSummary, { description: 'Newest first; only for callers who may list versions.' }),
    ),
    versionsTruncated: Type.Optional(Type.Boolean({ description: 'True if there are more than in `versions`.' })),
  },
  { $id: 'ObjectDetail' },
)

export const ObjectListing = Type.Object(
  {
    objects: Type.Array(ObjectSummary),
    prefixes: Type.Array(Type.String(), { description: 'Folders.' }),
    isTruncated: Type.Boolean(),
    nextCursor: Type.String({ description: 'Empty on the last page.' }),
  },
  { $id: 'ObjectListing' },
)

type SummaryFields = Pick<ListedObject, 'key' | 'sizeBytes' | 'etag' | 'modifiedMs' | 'storageClass'>

const fieldsOf = ({ key, sizeBytes, etag, modifiedMs, storageClass }: SummaryFields) => ({
  key,
  size: sizeBytes,
  etag,
  lastModified: new Date(modifiedMs).toISOString(),
  storageClass,
})

/** The type in answers about an object that was stored without one. */
const contentTypeDefault = 'binary/octet-stream'

const typeOf = (contentType = contentTypeDefault) => asTexts({ contentType })

/** The description of an object from a listing `withDetails`. */
export function describeObject(object: ListedObject) {
  const { versionId = 'null', contentType } = object
  return { ...fieldsOf(object), versionId, ...typeOf(contentType), isDeleteMarker: false, isLatest: true }
}

export function describeVersion(version: VersionSummary) {
  const { versionId, contentType, isDeleteMarker, isLatest } = version
  const ofKind = isDeleteMarker ? { etag: '' } : typeOf(contentType)
  return { ...fieldsOf(version), versionId, ...ofKind, isDeleteMarker, isLatest }
}

/** The description of a version that was just stored. */
export function describeStored(key: string, stored: PutResult, { system, storageClass }: ObjectAttributes) {
  const { sizeBytes, etag, modifiedMs, versionId = 'null' } = stored
  return {
    ...fieldsOf({ key, sizeBytes, etag, modifiedMs, storageClass }),
    versionId,
    ...typeOf(system.contentType),
    isDeleteMarker: false,
    isLatest: true,
  }
}

function describeEncryption({ type, kmsKeyId }: NonNullable<ObjectVersion['encryption']>) {
  return { type, ...(kmsKeyId === undefined ? undefined : { kmsKeyId }) }
}

/** Of what `setObjectMetadata` replaces, and of the content that it belongs to. */
export function etagOfMetadata({ etag, system, user }: ObjectVersion): string {
  return hash('sha256', canonicalJson({ etag, system: { ...system }, user: { ...user } })).slice(0, 32)
}

export function describeDetail(version: ObjectVersion, isLatest: boolean) {
  const { versionId, isDeleteMarker, system, user, parts, checksum, encryption } = version
  const {
    contentType = contentTypeDefault,
    contentEncoding,
    contentDisposition,
    contentLanguage,
    cacheControl,
    expires,
  } = system
  // The checksum is of the plaintext, which only the holder of the key may know.
  const shownChecksum = encryption?.type === 'SSE-C' ? undefined : checksum
  const texts = { contentType, contentEncoding, contentDisposition, contentLanguage, cacheControl, expires }
  return {
    ...fieldsOf(version),
    versionId,
    isDeleteMarker,
    isLatest,
    ...asTexts(texts),
    userMetadata: asTexts(user),
    parts: parts.length,
    ...(shownChecksum === undefined
      ? undefined
      : { checksumAlgorithm: shownChecksum.algorithm, checksum: shownChecksum.value }),
    ...(encryption === undefined ? undefined : { encryption: describeEncryption(encryption) }),
    ...(isDeleteMarker ? { etag: '' } : { metadataEtag: etagOfMetadata(version) }),
  }
}

/** Header values have one character for each byte; if the bytes are UTF-8, decodes them as such. */
function asTexts(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  // Without a prototype: a name may be `__proto__`.
  const texts: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue
    const bytes = Buffer.from(value, 'latin1')
    const text = bytes.toString('utf8')
    texts[name] = text.includes('\ufffd') ? value : text
  }
  return texts
}
