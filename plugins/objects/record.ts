/**
 * The encoding of records. An object version has a fixed head, from which listings and counters read a few bytes without decoding
 * anything, and a MessagePack tail. Offsets:
 *
 *     0  u8   format, 1            16  16 bytes  MD5 of the ETag
 *     1  u8   flags                32  u8        checksum algorithm (0: none)
 *     2  u48  size in bytes        33  u8        checksum type
 *     8  u48  modified, ms         34  u8        storage class
 *    14  u16  part count           35  f64       sequence of the commit that wrote it
 *    43  MessagePack: [system, user, checksum, blobs, parts, uploadId, tags, lock, encryption, acl]; each of the last two
 *         only where it or the other says something
 *     …  f64  trailer, only with its flag. In a newest version: sequence of the null version, if it is among the older ones.
 *             In an older one: when it stopped being the newest, ms
 *
 * - The commit writes `modified`, `sequence` and the flags of versioning (`stampVersion`); the other fields are encoded before it.
 * - A part has the same layout, so that completing an upload reads parts as it reads objects.
 * - Unknown elements at the end of the tail belong to a later release: they are ignored, and kept when other fields change.
 */
import { Packr } from 'msgpackr'
import type { ChecksumAlgorithm, ChecksumType, ChecksumValue } from 'svc/plugins/checksums/api'
import type { BlobRef, BodyRef, Redundancy, StoredRecord } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import type {
  CannedAcl,
  ObjectAttributes,
  ObjectEncryption,
  ObjectLock,
  ObjectPart,
  ObjectSummary,
  ObjectVersion,
  SystemMetadata,
  VersionSummary,
} from './api.ts'
import { endOfRetention } from './retention-end.ts'
import { noTags, type Tags } from './tags.ts'
import { versionIdOf } from './version-id.ts'

const headBytes = 43
const format = 1
/**
 * `versioned`: has its own id; otherwise it is the null version. `locked`: the tail has a lock. `due`: is in the index of due
 * times (`due.ts`). `alone`: a delete marker that is the only version of its key.
 */
const flag = { deleteMarker: 1, multipart: 2, versioned: 4, trailer: 8, locked: 16, due: 32, alone: 64 } as const
const trailerBytes = 8

/** The position is the code on disk: append only. */
const algorithms: readonly (ChecksumAlgorithm | undefined)[] = [
  undefined,
  'CRC32',
  'CRC32C',
  'CRC64NVME',
  'SHA1',
  'SHA256',
  'SHA512',
  'MD5',
  'XXHASH64',
  'XXHASH3',
  'XXHASH128',
]
const types: readonly ChecksumType[] = ['FULL_OBJECT', 'COMPOSITE']
export const storageClasses: readonly string[] = ['STANDARD', 'REDUCED_REDUNDANCY']

export function redundancyOf({ storageClass }: Pick<ObjectAttributes, 'storageClass'>): Redundancy {
  return storageClass === 'REDUCED_REDUNDANCY' ? 'reduced' : 'standard'
}
const systemFields: readonly (keyof SystemMetadata)[] = [
  'contentType',
  'contentEncoding',
  'contentDisposition',
  'contentLanguage',
  'cacheControl',
  'expires',
  'websiteRedirectLocation',
]

const packr = new Packr({ useRecords: false, mapsAsObjects: true })

/** The location of a version's bytes: exactly one of the two, or neither for an empty object. */
export interface DataLocation {
  readonly body: BodyRef | undefined
  readonly blobs: readonly BlobRef[]
}

/** A decoded version: the one that the service returns, plus fields for this plugin only. */
export interface StoredVersion extends ObjectVersion {
  readonly data: DataLocation
  readonly sequence: number
  /** Id of the multipart upload that created it. */
  readonly uploadId: string | undefined
}

/** The raw MD5 in a version's ETag. */
export function md5Of(version: ObjectVersion): Buffer {
  return Buffer.from(version.etag.slice(0, 32), 'hex')
}

export interface VersionFields {
  readonly attributes: ObjectAttributes
  readonly sizeBytes: number
  readonly md5: Buffer
  readonly isDeleteMarker?: boolean
  readonly checksum: ChecksumValue | undefined
  readonly blobs: readonly BlobRef[]
  readonly parts?: readonly ObjectPart[]
  readonly uploadId?: string
  readonly encryption?: ObjectEncryption
}

/** A flat list of keys and values if a key is `__proto__`, because unpacking would rename a property of that name. */
type PackedMap = Readonly<Record<string, string>> | readonly string[]

type Tail = [
  system: (string | null)[],
  user: PackedMap | null,
  checksum: string | null,
  blobs: [string, number, number][],
  parts: [number, number, string | null][] | null,
  uploadId: string | null,
  tags: PackedMap | null,
  lock: [retentionMode: 0 | 1 | 2, retainUntilMs: number, legalHold: boolean | null] | null,
  encryption?: [type: number, kmsKeyId: string | null, bucketKeyEnabled: boolean, sealed: Uint8Array] | null,
  acl?: number | null,
]
const tailIndex = { blobs: 3, tags: 6, lock: 7, encryption: 8, acl: 9 } as const
/** The position is the code on disk: append only. */
const retentionModes = [undefined, 'GOVERNANCE', 'COMPLIANCE'] as const
/** The position is the code on disk: append only. */
const encryptionTypes = ['SSE-S3', 'SSE-KMS', 'SSE-C'] as const

/** The position is the code on disk: append only. */
const acls: readonly CannedAcl[] = ['public-read', 'public-read-write', 'authenticated-read']

/** Encodes a version or part. `stampVersion` must follow within the commit. */
export function encodeVersion(fields: VersionFields): Buffer {
  const { attributes, checksum, parts } = fields
  const tail: Tail = [
    encodeSystem(attributes.system),
    encodeMap(attributes.user),
    checksum?.value ?? null,
    fields.blobs.map(blob => [blob.id, blob.size, blob.check]),
    parts?.map(part => [part.partNumber, part.sizeBytes, part.checksum?.value ?? null]) ?? null,
    fields.uploadId ?? null,
    encodeTags(attributes.tags),
    encodeLock(attributes.lock),
  ]
  const { acl } = attributes
  if (fields.encryption !== undefined || acl !== undefined) {
    tail.push(fields.encryption === undefined ? null : encodeEncryption(fields.encryption))
  }
  if (acl !== undefined) tail.push(encodeAcl(acl))
  const packed = packr.pack(tail)
  const value = Buffer.allocUnsafe(headBytes + packed.length)
  value[0] = format
  value[1] =
    (fields.isDeleteMarker ? flag.deleteMarker : 0) |
    (parts === undefined ? 0 : flag.multipart) |
    (tail[tailIndex.lock] === null ? 0 : flag.locked)
  value.writeUIntBE(fields.sizeBytes, 2, 6)
  value.writeUIntBE(0, 8, 6)
  value.writeUInt16BE(parts?.length ?? 0, 14)
  fields.md5.copy(value, 16)
  value[32] = checksum === undefined ? 0 : algorithms.indexOf(checksum.algorithm)
  value[33] = checksum === undefined ? 0 : types.indexOf(checksum.type)
  value[34] = storageClasses.indexOf(attributes.storageClass)
  value.writeDoubleBE(0, 35)
  packed.copy(value, headBytes)
  return value
}

const deleteMarker = encodeVersion({
  attributes: { system: {}, user: {}, storageClass: 'STANDARD' },
  sizeBytes: 0,
  md5: Buffer.alloc(16),
  isDeleteMarker: true,
  checksum: undefined,
  blobs: [],
})

/** An encoded delete marker without its stamp. */
export function encodeDeleteMarker(): Buffer {
  return Buffer.from(deleteMarker)
}

/** Writes the fields that are known only in the commit. `isVersioned`: the version gets its own id. */
export function stampVersion(
  value: Uint8Array,
  stamp: { readonly nowMs: number; readonly sequence: number },
  isVersioned: boolean,
  isDueIndexed: boolean,
): void {
  const bytes = asBuffer(value)
  bytes.writeUIntBE(stamp.nowMs, 8, 6)
  bytes.writeDoubleBE(stamp.sequence, 35)
  bytes[1]! |= (isVersioned ? flag.versioned : 0) | (isDueIndexed ? flag.due : 0)
}

export function isNullVersion(value: Uint8Array): boolean {
  return (value[1]! & flag.versioned) === 0
}

export function isLocked(value: Uint8Array): boolean {
  return (value[1]! & flag.locked) !== 0
}

/** Sequence of the null version among the older versions, as recorded in the newest version. */
export function olderNullOf(newest: Uint8Array): number | undefined {
  return trailerOf(newest)
}

/** Of the newest version: whether it is the null version, or one of the older ones is. */
export function hasNullVersion(newest: Uint8Array): boolean {
  return isNullVersion(newest) || olderNullOf(newest) !== undefined
}

/** The newest version with another location of the null version, or none. Returns the same bytes if nothing changes. */
export function withOlderNull(value: Uint8Array, sequence: number | undefined): Uint8Array {
  return withTrailer(value, sequence)
}

/** When an older version stopped being the newest, in milliseconds since 1970. */
export function noncurrentSinceOf(older: Uint8Array): number | undefined {
  return trailerOf(older)
}

/** The same version as an older version. */
export function withNoncurrentSince(value: Uint8Array, sinceMs: number): Uint8Array {
  return withTrailer(value, sinceMs)
}

function trailerOf(value: Uint8Array): number | undefined {
  return (value[1]! & flag.trailer) === 0 ? undefined : asBuffer(value).readDoubleBE(value.length - trailerBytes)
}

function withTrailer(value: Uint8Array, trailer: number | undefined): Uint8Array {
  if (trailerOf(value) === trailer) return value
  const contentBytes = value.length - ((value[1]! & flag.trailer) === 0 ? 0 : trailerBytes)
  const changed = Buffer.alloc(contentBytes + (trailer === undefined ? 0 : trailerBytes))
  changed.set(value.subarray(0, contentBytes))
  changed[1]! &= ~flag.trailer
  if (trailer !== undefined) {
    changed[1]! |= flag.trailer
    changed.writeDoubleBE(trailer, contentBytes)
  }
  return changed
}

/** Whether the version is in the index of due times. */
export function isDueIndexed(value: Uint8Array): boolean {
  return (value[1]! & flag.due) !== 0
}

/** The same version, marked as being in the index of due times. */
export function withDueIndex(value: Uint8Array): Uint8Array {
  return withFlag(value, flag.due, true)
}

/** Whether a delete marker is the only version of its key. Recorded only in a newest version. */
export function isAlone(value: Uint8Array): boolean {
  return (value[1]! & flag.alone) !== 0
}

export function withAlone(value: Uint8Array, alone: boolean): Uint8Array {
  return withFlag(value, flag.alone, alone)
}

function withFlag(value: Uint8Array, bit: number, on: boolean): Uint8Array {
  if (((value[1]! & bit) !== 0) === on) return value
  const changed = Buffer.from(value)
  changed[1] = on ? changed[1]! | bit : changed[1]! & ~bit
  return changed
}

/** The same version with other tags. Fields of later releases are kept. */
export function withTags(value: Uint8Array, tags: Tags): Uint8Array {
  return withTail(value, tailIndex.tags, encodeTags(tags))
}

/** The same version with another access control list; `null` for the owner's. */
export function withAcl(value: Uint8Array, acl: CannedAcl | null): Uint8Array {
  return withTail(value, tailIndex.acl, acl === null ? null : encodeAcl(acl))
}

/** The same version with another lock. */
export function withLock(value: Uint8Array, lock: ObjectLock): Uint8Array {
  const encoded = encodeLock(lock)
  const changed = withTail(value, tailIndex.lock, encoded)
  changed[1] = encoded === null ? changed[1]! & ~flag.locked : changed[1]! | flag.locked
  return changed
}

function withTail(value: Uint8Array, index: number, element: Tail[number]): Buffer {
  const tail = packr.unpack(tailOf(value)) as (Tail[number] | undefined)[]
  while (tail.length < index) tail.push(null)
  tail[index] = element
  const trailer = trailerOf(value)
  const changed = Buffer.concat([value.subarray(0, headBytes), packr.pack(tail)])
  changed[1]! &= ~flag.trailer
  return asBuffer(withTrailer(changed, trailer))
}

function tailOf(value: Uint8Array): Uint8Array {
  return value.subarray(headBytes, (value[1]! & flag.trailer) === 0 ? value.length : value.length - trailerBytes)
}

/** The same version with its data key sealed differently. */
export function withEncryption(value: Uint8Array, encryption: ObjectEncryption): Uint8Array {
  return withTail(value, tailIndex.encryption, encodeEncryption(encryption))
}

export function encryptionOf(value: Uint8Array): ObjectEncryption | undefined {
  return decodeEncryption((packr.unpack(tailOf(value)) as Tail)[tailIndex.encryption])
}

/** Whether a version is encrypted; of what is not, nothing is decoded. */
export function isEncrypted(value: Uint8Array): boolean {
  const first = value[headBytes]!
  // A MessagePack array of fewer than 16 elements has its length in its first byte.
  if (first >= 0x90 && first <= 0x90 + tailIndex.encryption) return false
  return encryptionOf(value) !== undefined
}

export function lockOf(value: Uint8Array): ObjectLock | undefined {
  return isLocked(value) ? decodeLock((packr.unpack(tailOf(value)) as Tail)[tailIndex.lock]) : undefined
}

export function tagsOf(value: Uint8Array): ObjectAttributes['tags'] {
  return decodeTags((packr.unpack(tailOf(value)) as Tail)[tailIndex.tags])
}

/** Whether a version has exactly these tags. */
export function hasTags(value: Uint8Array, tags: Tags): boolean {
  const present = tagsOf(value) ?? noTags
  return present.size === tags.size && [...tags].every(([name, text]) => present.get(name) === text)
}

/** Ids of the blobs that a version references; needed whenever its record is put again. */
export function blobIdsOf(value: Uint8Array): readonly string[] {
  return (packr.unpack(tailOf(value)) as Tail)[tailIndex.blobs].map(([id]) => id)
}

/** Names the data of a version: stays when its metadata, tags or lock change, and is never that of other data. */
export function dataIdOf(value: Uint8Array): string {
  const ids = blobIdsOf(value)
  return ids.length === 0 ? versionIdOf(sequenceOf(value)) : ids.join(' ')
}

export function isReduced(value: Uint8Array): boolean {
  return storageClasses[value[34]!] === 'REDUCED_REDUNDANCY'
}

export function isDeleteMarker(value: Uint8Array): boolean {
  return (value[1]! & flag.deleteMarker) !== 0
}

export function sizeOf(value: Uint8Array): number {
  return asBuffer(value).readUIntBE(2, 6)
}

export function modifiedOf(value: Uint8Array): number {
  return asBuffer(value).readUIntBE(8, 6)
}

export function sequenceOf(value: Uint8Array): number {
  return asBuffer(value).readDoubleBE(35)
}

/** `null` of a version that was written without versioning. */
export function recordedVersionId(value: Uint8Array): string {
  return isNullVersion(value) ? 'null' : versionIdOf(sequenceOf(value))
}

/** Without quotes: 32 hexadecimal digits, and `-<parts>` for a multipart upload. */
export function etagOf(value: Uint8Array): string {
  const bytes = asBuffer(value)
  const md5 = bytes.toString('hex', 16, 32)
  return (bytes[1]! & flag.multipart) === 0 ? md5 : `${md5}-${bytes.readUInt16BE(14)}`
}

/** The fields of a listing, decoded from the fixed head alone. */
export function decodeSummary(key: string, value: Uint8Array): ObjectSummary {
  requireFormat(value)
  const algorithm = algorithms[value[32]!]
  return {
    key,
    sizeBytes: sizeOf(value),
    etag: etagOf(value),
    modifiedMs: modifiedOf(value),
    storageClass: storageClasses[value[34]!]!,
    checksumAlgorithm: algorithm,
    checksumType: algorithm === undefined ? undefined : types[value[33]!],
  }
}

/** With what S3's listings do not say. */
export function withDetails<Summary extends ObjectSummary>(summary: Summary, value: Uint8Array): Summary {
  const [system] = packr.unpack(tailOf(value)) as Tail
  const versionId = recordedVersionId(value)
  return { ...summary, versionId, contentType: decodeSystem(system).contentType }
}

/** The fields of a listing of versions, decoded from the fixed head alone. */
export function decodeVersionSummary(key: string, value: Uint8Array, isLatest: boolean): VersionSummary {
  // Extended in place, not copied: a page has a thousand of them.
  const summary = decodeSummary(key, value) as { -readonly [Field in keyof VersionSummary]: VersionSummary[Field] }
  summary.versionId = recordedVersionId(value)
  summary.isLatest = isLatest
  summary.isDeleteMarker = isDeleteMarker(value)
  return summary
}

export function decodeVersion(bucket: string, key: string, record: StoredRecord): StoredVersion {
  const { value } = record
  requireFormat(value)
  const tail = packr.unpack(tailOf(value)) as Tail
  const [system, user, checksum, blobs, parts, uploadId, tags, lock, encryption, acl] = tail
  const algorithm = algorithms[value[32]!]
  return {
    bucket,
    key,
    versionId: recordedVersionId(value),
    isDeleteMarker: isDeleteMarker(value),
    sizeBytes: sizeOf(value),
    etag: etagOf(value),
    modifiedMs: modifiedOf(value),
    checksum: checksumOf(algorithm, types[value[33]!]!, checksum),
    parts: parts === null ? noParts : decodeParts(parts, algorithm),
    system: decodeSystem(system),
    user: decodeMap(user) ?? noUserMetadata,
    storageClass: storageClasses[value[34]!]!,
    tags: decodeTags(tags),
    lock: decodeLock(lock),
    acl: decodeAcl(acl),
    encryption: decodeEncryption(encryption),
    data: { body: record.body, blobs: blobs.length === 0 ? noBlobs : blobs.map(toBlobRef) },
    sequence: sequenceOf(value),
    uploadId: uploadId ?? undefined,
  }
}

// Shared empty lists, because every GET decodes a version.
const noParts: readonly ObjectPart[] = Object.freeze([])
const noBlobs: readonly BlobRef[] = Object.freeze([])
const noUserMetadata: Readonly<Record<string, string>> = Object.freeze({})

function toBlobRef([id, size, check]: Tail[3][number]): BlobRef {
  return { id, size, check }
}

function decodeParts(parts: NonNullable<Tail[4]>, algorithm: ChecksumAlgorithm | undefined): readonly ObjectPart[] {
  return parts.map(([partNumber, sizeBytes, text]) => ({
    partNumber,
    sizeBytes,
    checksum: checksumOf(algorithm, 'FULL_OBJECT', text),
  }))
}

function checksumOf(
  algorithm: ChecksumAlgorithm | undefined,
  type: ChecksumType,
  value: string | null,
): ChecksumValue | undefined {
  return algorithm === undefined || value === null ? undefined : { algorithm, type, value }
}

/** Encodes a record that is a plain document: a bucket or an upload. The first byte is the format. */
export function encodeDocument(document: object): Buffer {
  const { tags } = document as { tags?: Tags }
  const packed = packr.pack(tags === undefined ? document : { ...document, tags: encodeTags(tags) ?? {} })
  const value = Buffer.allocUnsafe(packed.length + 1)
  value[0] = format
  packed.copy(value, 1)
  return value
}

export function decodeDocument<T>(value: Uint8Array): T {
  requireFormat(value)
  const document = packr.unpack(value.subarray(1))
  if (document.tags !== undefined) document.tags = decodeTags(document.tags)
  return document as T
}

function requireFormat(value: Uint8Array): void {
  if (value[0] !== format) {
    throw storageErrors.corrupt(`A record has format ${value[0]}; this release reads format ${format}.`)
  }
}

function encodeSystem(system: SystemMetadata): (string | null)[] {
  const values = systemFields.map(field => system[field] ?? null)
  while (values.length > 0 && values.at(-1) === null) values.pop()
  return values
}

function decodeSystem(values: readonly (string | null)[]): SystemMetadata {
  const system: { -readonly [K in keyof SystemMetadata]: SystemMetadata[K] } = {}
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value !== null && value !== undefined) system[systemFields[i]!] = value
  }
  return system
}

/** Attributes as stored in a document, with maps packed so that a `__proto__` key survives. */
export function packAttributes({ user, tags, ...rest }: ObjectAttributes): object {
  return { ...rest, user: encodeMap(user) ?? {}, tags: encodeTags(tags) }
}

export function unpackAttributes(packed: object): ObjectAttributes {
  const { user, tags, ...rest } = packed as ObjectAttributes & { user: PackedMap; tags?: PackedMap | null }
  return { ...rest, user: decodeMap(user) ?? noUserMetadata, tags: decodeTags(tags) }
}

function encodeMap(map: Readonly<Record<string, string>> | undefined): PackedMap | null {
  if (map === undefined || isEmpty(map)) return null
  return Object.hasOwn(map, '__proto__') ? Object.entries(map).flat() : map
}

/** `undefined` for a record of a release without this map. */
function decodeMap(packed: PackedMap | null | undefined): Readonly<Record<string, string>> | undefined {
  if (packed === null || packed === undefined) return undefined
  if (!isFlat(packed)) return packed
  const pairs: [string, string][] = []
  for (let i = 0; i + 1 < packed.length; i += 2) pairs.push([packed[i]!, packed[i + 1]!])
  return Object.fromEntries(pairs)
}

/** Flat also where a key is a whole number: an object would not keep its place. */
function encodeTags(tags: Tags | undefined): PackedMap | null {
  if (tags === undefined || tags.size === 0) return null
  const isFaithful = [...tags.keys()].every(key => key !== '__proto__' && !/^\d+$/.test(key))
  return isFaithful ? Object.fromEntries(tags) : [...tags].flat()
}

/** `undefined` for a record of a release without tags. */
function decodeTags(packed: PackedMap | null | undefined): Tags | undefined {
  if (packed === null || packed === undefined) return undefined
  if (!isFlat(packed)) return new Map(Object.entries(packed))
  const tags = new Map<string, string>()
  for (let i = 0; i + 1 < packed.length; i += 2) tags.set(packed[i]!, packed[i + 1]!)
  return tags
}

function isFlat(packed: PackedMap): packed is readonly string[] {
  return Array.isArray(packed)
}

function encodeLock(lock: ObjectLock | undefined): Tail[7] {
  if (lock === undefined || (lock.retention === undefined && lock.legalHold === undefined)) return null
  const { retention, legalHold } = lock
  const mode = retention?.mode === 'COMPLIANCE' ? 2 : retention?.mode === 'GOVERNANCE' ? 1 : 0
  return [mode, retention === undefined ? 0 : endOfRetention(retention.retainUntilMs), legalHold ?? null]
}

/** `undefined` for a record of a release without locks. */
function decodeLock(lock: Tail[7] | undefined): ObjectLock | undefined {
  if (lock === null || lock === undefined) return undefined
  const [code, end, legalHold] = lock
  const mode = retentionModes[code]
  const retention = mode === undefined ? undefined : { mode, retainUntilMs: endOfRetention(end) }
  return { retention, legalHold: legalHold ?? undefined }
}

function encodeAcl(acl: CannedAcl): number {
  return acls.indexOf(acl)
}

/** A list of a later release grants nothing here. */
function decodeAcl(acl: Tail[9]): CannedAcl | undefined {
  return acl === null || acl === undefined ? undefined : acls[acl]
}

export function encodeEncryption({ type, kmsKeyId, bucketKeyEnabled, sealed }: ObjectEncryption): EncodedEncryption {
  return [encryptionTypes.indexOf(type), kmsKeyId ?? null, bucketKeyEnabled === true, asBuffer(sealed)]
}

export type EncodedEncryption = NonNullable<Tail[8]>

export function decodeEncryption(encryption: Tail[8]): ObjectEncryption | undefined {
  if (encryption === null || encryption === undefined) return undefined
  const [code, kmsKeyId, bucketKeyEnabled, sealed] = encryption
  const type = encryptionTypes[code]
  // Treated as plain, the stored bytes would be sent as the client's data.
  if (type === undefined)
    throw storageErrors.corrupt(
      `A record has the unknown kind of encryption ${code}. Its bytes are not returned; a later release may have written it.`,
    )
  // A copy, because the unpacked bytes lie in the record's memory.
  return { type, kmsKeyId: kmsKeyId ?? undefined, bucketKeyEnabled, sealed: Buffer.from(sealed) }
}

function isEmpty(map: Readonly<Record<string, string>>): boolean {
  for (const _ in map) return false
  return true
}

function asBuffer(value: Uint8Array): Buffer {
  return value instanceof Buffer ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
