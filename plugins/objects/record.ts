/**
 * The bytes of records. An object version has a fixed head, so that a listing and the counters read a few bytes and decode
 * nothing, and a MessagePack tail. Offsets:
 *
 *     0  u8   format, 1            16  16 bytes  MD5 of the ETag
 *     1  u8   flags                32  u8        checksum algorithm (0: none)
 *     2  u48  size in bytes        33  u8        checksum type
 *     8  u48  modified, ms         34  u8        storage class
 *    14  u16  part count           35  f64       sequence of the commit that wrote it
 *    43  MessagePack: [system, user, checksum, blobs, parts, uploadId, tags]
 *
 * `modified` and `sequence` are stamped by the commit, the rest is written before it. A part has the same layout, so that
 * completing an upload reads parts as it reads objects. Unknown elements at the end of the tail are ignored (they belong to
 * a later release).
 */
import { Packr } from 'msgpackr'
import type { ChecksumAlgorithm, ChecksumType, ChecksumValue } from 'svc/plugins/checksums/api'
import type { BlobRef, BodyRef, StoredRecord } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import type { ObjectAttributes, ObjectPart, ObjectSummary, ObjectVersion, SystemMetadata } from './api.ts'

const headBytes = 43
const format = 1
const flag = { deleteMarker: 1, multipart: 2 } as const

/** Position = the code on disk: only ever append. */
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

/** Where the bytes of a version are. Exactly one of the two, or neither for an empty object. */
export interface DataLocation {
  readonly body: BodyRef | undefined
  readonly blobs: readonly BlobRef[]
}

/** A version as decoded: what the service returns, with what only this plugin needs. */
export interface StoredVersion extends ObjectVersion {
  readonly data: DataLocation
  readonly sequence: number
  /** Of the multipart upload that made it. */
  readonly uploadId: string | undefined
}

/** Raw MD5 in a version's ETag. */
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
}

type Tail = [
  system: (string | null)[],
  user: Record<string, string> | null,
  checksum: string | null,
  blobs: [string, number, number][],
  parts: [number, number, string | null][] | null,
  uploadId: string | null,
  tags: Record<string, string> | null,
]

/** Encodes a version or part; `stampVersion` must follow inside the commit. */
export function encodeVersion(fields: VersionFields): Buffer {
  const { attributes, checksum, parts } = fields
  const tail: Tail = [
    encodeSystem(attributes.system),
    isEmpty(attributes.user) ? null : attributes.user,
    checksum?.value ?? null,
    fields.blobs.map(blob => [blob.id, blob.size, blob.check]),
    parts?.map(part => [part.partNumber, part.sizeBytes, part.checksum?.value ?? null]) ?? null,
    fields.uploadId ?? null,
    attributes.tags === undefined || isEmpty(attributes.tags) ? null : attributes.tags,
  ]
  const packed = packr.pack(tail)
  const value = Buffer.allocUnsafe(headBytes + packed.length)
  value[0] = format
  value[1] = (fields.isDeleteMarker ? flag.deleteMarker : 0) | (parts === undefined ? 0 : flag.multipart)
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

/** Writes into an encoded version what only its commit knows. */
export function stampVersion(value: Uint8Array, modifiedMs: number, sequence: number): void {
  const bytes = asBuffer(value)
  bytes.writeUIntBE(modifiedMs, 8, 6)
  bytes.writeDoubleBE(sequence, 35)
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

/** Without quotes: 32 hexadecimal digits, and `-<parts>` for a multipart upload. */
export function etagOf(value: Uint8Array): string {
  const bytes = asBuffer(value)
  const md5 = bytes.toString('hex', 16, 32)
  return (bytes[1]! & flag.multipart) === 0 ? md5 : `${md5}-${bytes.readUInt16BE(14)}`
}

/** What a listing shows, from the fixed head alone. */
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

export function decodeVersion(bucket: string, key: string, record: StoredRecord): StoredVersion {
  const { value } = record
  requireFormat(value)
  const [system, user, checksum, blobs, parts, uploadId, tags] = packr.unpack(value.subarray(headBytes)) as Tail
  const algorithm = algorithms[value[32]!]
  return {
    bucket,
    key,
    versionId: 'null',
    isDeleteMarker: isDeleteMarker(value),
    sizeBytes: sizeOf(value),
    etag: etagOf(value),
    modifiedMs: modifiedOf(value),
    checksum: checksumOf(algorithm, types[value[33]!]!, checksum),
    parts: parts === null ? noParts : decodeParts(parts, algorithm),
    system: decodeSystem(system),
    user: user ?? noUserMetadata,
    storageClass: storageClasses[value[34]!]!,
    tags: tags ?? undefined,
    data: { body: record.body, blobs: blobs.length === 0 ? noBlobs : blobs.map(toBlobRef) },
    sequence: sequenceOf(value),
    uploadId: uploadId ?? undefined,
  }
}

// What most versions have none of is shared: decoding is on the way of every GET.
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

/** A record that is a plain document: buckets and uploads. The first byte is the format. */
export function encodeDocument(document: object): Buffer {
  const packed = packr.pack(document)
  const value = Buffer.allocUnsafe(packed.length + 1)
  value[0] = format
  packed.copy(value, 1)
  return value
}

export function decodeDocument<T>(value: Uint8Array): T {
  requireFormat(value)
  return packr.unpack(value.subarray(1)) as T
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

function isEmpty(map: Readonly<Record<string, string>>): boolean {
  for (const _ in map) return false
  return true
}

function asBuffer(value: Uint8Array): Buffer {
  return value instanceof Buffer ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
