/**
 * Which record refers to blobs of other sets: kept in the set of the records, beside each record that does, and what follows from it.
 * Table ff, which users of the storage leave to backends:
 *
 *     ff x, key               blobs of other sets that the record with this key refers to
 *     ff y, start of key, hash  the same, of a key that is too long for that
 *     counter ff n, blob id   how many records refer to it, and its size times that
 *     counter ff t, set, group  records of a group that refer to blobs of the set, and bytes of these
 *
 * The first is put, replaced and deleted in the transaction that does the same with the record; the counters are derived from it. So all
 * of it is exact after every crash.
 */
import { createHash } from 'node:crypto'
import type { Derive, DerivedWriter } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { setOfBlob } from './blob-ids.ts'

export const ownTable = 0xff
const referenceByte = 0x78
const hashedByte = 0x79
const format = 1
const headBytes = 4
const idBytes = 26
const entryBytes = idBytes + 8
/** Longer keys are shortened: a drive's keys are bounded. */
const keyBytesMax = 3800
const keptBytes = 3000

export interface Reference {
  readonly id: string
  readonly size: number
}

/** Where the references of the record with this key are. */
export function referencesKey(recordKey: Buffer): Buffer {
  if (recordKey.length <= keyBytesMax) return Buffer.concat([Buffer.from([ownTable, referenceByte]), recordKey])
  const hash = createHash('sha256').update(recordKey).digest()
  return Buffer.concat([Buffer.from([ownTable, hashedByte]), recordKey.subarray(0, keptBytes), hash])
}

export function encodeReferences(references: readonly Reference[]): Buffer {
  const bytes = Buffer.alloc(headBytes + references.length * entryBytes)
  bytes[0] = format
  bytes.writeUInt16LE(references.length, 2)
  let at = headBytes
  for (const { id, size } of references) {
    bytes.latin1Write(id, at, idBytes)
    bytes.writeDoubleLE(size, at + idBytes)
    at += entryBytes
  }
  return bytes
}

/** Throws `corrupt`. */
export function decodeReferences(value: Uint8Array): Reference[] {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (bytes.length < headBytes || bytes[0] !== format) throw storageErrors.corrupt('References have an unknown format.')
  const references: Reference[] = []
  for (let at = headBytes; at < bytes.length; at += entryBytes) {
    references.push({ id: bytes.latin1Slice(at, at + idBytes), size: bytes.readDoubleLE(at + idBytes) })
  }
  return references
}

export function countKey(blobId: string): Buffer {
  return Buffer.concat([Buffer.from([ownTable, 0x6e]), Buffer.from(blobId, 'latin1')])
}

/** `group`: the start of a record's key, up to its first zero byte: its table and bucket. */
export function groupKey(setNumber: number, group: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([ownTable, 0x74, setNumber]), group])
}

export function groupOf(recordKey: Buffer): Buffer {
  const end = recordKey.indexOf(0, 1)
  return end === -1 ? recordKey.subarray(0, 1) : recordKey.subarray(0, end)
}

/** What is derived in a set of several, whichever it is: users' records are in one of them only, and so are references. */
export function deriveInPools(derive: Derive): Derive {
  return (key, before, after, emit) => {
    if (key[0] !== ownTable) derive(key, before, after, emit)
    else if (key[1] === referenceByte || key[1] === hashedByte) {
      const group = groupOf(key.subarray(2))
      if (before !== undefined) count(group, decodeReferences(before), emit, -1)
      if (after !== undefined) count(group, decodeReferences(after), emit, 1)
    }
  }
}

function count(group: Buffer, references: readonly Reference[], emit: DerivedWriter, sign: 1 | -1): void {
  const bytesBySet = new Map<number, number>()
  for (const { id, size } of references) {
    emit.add(countKey(id), [sign, sign * size])
    const number = setOfBlob(id)
    bytesBySet.set(number, (bytesBySet.get(number) ?? 0) + size)
  }
  for (const [number, bytes] of bytesBySet) emit.add(groupKey(number, group), [sign, sign * bytes])
}
