/**
 * References of records: for each record, the blobs of other sets that it uses. The counters tell whether a blob is still used, and by how
 * much the records of a bucket use other sets. A group is the start of a record's key, such as its bucket (`groupOf`,
 * `blob-references.ts`); a blob and a group together are one reference. All of it is stored in the record set, beside the record, in the
 * table ff, which is reserved for backends:
 *
 *     ff x, key                 blobs of other sets that the record with this key refers to
 *     ff y, start of key, hash  the same, for a key that is too long
 *     counter ff n, blob id     how many records use the blob, and the bytes of that (its size times the number)
 *     counter ff m, reference   how many records of the reference's group use the blob
 *
 * `PooledTransaction` writes, replaces and deletes a record's references in the same transaction as the record, and the drive changes the
 * counters with them; so all of it is exact after every crash. In format 1 references have no group, and only the first counter.
 */
import { createHash } from 'node:crypto'
import type { Derive, DerivedWriter } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { blobReferenceOf, groupOf, noGroup } from './blob-references.ts'

export const ownTable = 0xff
const referenceByte = 0x78
const hashedByte = 0x79
const format = 2
const headBytes = 4
const idBytes = 26
const entryBytes = idBytes + 8
/** Longer keys are shortened, because a drive's keys are bounded. */
const keyBytesMax = 3800
const keptBytes = 3000

export interface BlobSize {
  readonly id: string
  readonly size: number
}

export interface ReferenceEntry extends BlobSize {
  readonly reference: string
}

/** Key of the references of the record with this key. */
export function referencesKey(recordKey: Buffer): Buffer {
  if (recordKey.length <= keyBytesMax) return Buffer.concat([Buffer.from([ownTable, referenceByte]), recordKey])
  const hash = createHash('sha256').update(recordKey).digest()
  return Buffer.concat([Buffer.from([ownTable, hashedByte]), recordKey.subarray(0, keptBytes), hash])
}

export function encodeReferences(entries: readonly BlobSize[]): Buffer {
  const bytes = Buffer.alloc(headBytes + entries.length * entryBytes)
  bytes[0] = format
  bytes.writeUInt16LE(entries.length, 2)
  let at = headBytes
  for (const { id, size } of entries) {
    bytes.latin1Write(id, at, idBytes)
    bytes.writeDoubleLE(size, at + idBytes)
    at += entryBytes
  }
  return bytes
}

/** `place`: the key that they are stored under. Throws `corrupt`. */
export function decodeReferences(place: Buffer, value: Uint8Array): ReferenceEntry[] {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (bytes.length < headBytes || bytes[0] === 0 || bytes[0]! > format) {
    throw storageErrors.corrupt('The references of a record have an unknown format.')
  }
  const group = bytes[0] === 1 ? noGroup : groupOf(place.subarray(2))
  const entries: ReferenceEntry[] = []
  for (let at = headBytes; at < bytes.length; at += entryBytes) {
    const id = bytes.latin1Slice(at, at + idBytes)
    entries.push({ id, reference: blobReferenceOf(id, group), size: bytes.readDoubleLE(at + idBytes) })
  }
  return entries
}

export function blobCountKey(blobId: string): Buffer {
  return Buffer.concat([Buffer.from([ownTable, 0x6e]), Buffer.from(blobId, 'latin1')])
}

export function referenceCountKey(reference: string): Buffer {
  return Buffer.concat([Buffer.from([ownTable, 0x6d]), Buffer.from(reference, 'latin1')])
}

export function isReferences(key: Buffer): boolean {
  return key[1] === referenceByte || key[1] === hashedByte
}

export const deriveFromReferences: Derive = (key, before, after, emit) => {
  if (before !== undefined) count(key, before, emit, -1)
  if (after !== undefined) count(key, after, emit, 1)
}

function count(key: Buffer, value: Uint8Array, emit: DerivedWriter, sign: 1 | -1): void {
  const isGrouped = value[0] !== 1
  for (const { id, reference, size } of decodeReferences(key, value)) {
    emit.add(blobCountKey(id), [sign, sign * size])
    if (isGrouped) emit.add(referenceCountKey(reference), [sign])
  }
}
