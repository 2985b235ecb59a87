/**
 * Remote references: the records of a set that has no others. Each is of one blob, which it refers to as records do: so all that a set does for its
 * records (repeating changes, catching up, healing, reading everything, counting) it does for blobs whose records lie in another set. A
 * blob has one for each group of records that refer to it (see references.ts): the set's ledger, which counts by the start of a key up to its
 * first zero byte, is then one of these groups.
 *
 *     ff s group 00 id in the set    u8 format 2, 16 bytes: the run of the server that put it, f64 size, f64 number of its grant
 *     derived ff b id group          nothing: which remote references a blob has
 *
 * Format 1 ends with the size, has no group, and no derived entry.
 */
import type { Derive } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { blobOfReference, blobReferenceOf, groupOfReference, noGroup } from './blob-references.ts'
import { ownTable } from './record-references.ts'

const format = 2
const runBytes = 16
const acquisitionAt = 1 + runBytes + 8
const valueBytes = acquisitionAt + 8
const idBytes = 26
const nothing = Buffer.alloc(0)

export const remoteReferenceStart = Buffer.from([ownTable, 0x73])
export const remoteReferenceEnd = Buffer.from([ownTable, 0x74])

/** `reference`: with the id that the blob has in its set. */
export function remoteReferenceKey(reference: string): Buffer {
  return Buffer.concat([
    remoteReferencesOf(groupOfReference(reference)),
    Buffer.from(blobOfReference(reference), 'latin1'),
  ])
}

/** All keys of a group begin like this. */
export function remoteReferencesOf(group: string): Buffer {
  return Buffer.concat([remoteReferenceStart, Buffer.from(`${group}\0`, 'latin1')])
}

/** With the id that the blob has in its set. */
export function referenceFromKey(key: Buffer): string {
  const idStart = key.length - idBytes
  return blobReferenceOf(key.latin1Slice(idStart), key.latin1Slice(remoteReferenceStart.length, idStart - 1))
}

/** What the remote reference was put by: a run of the server, and in it the grants are numbered from 1. */
export interface Acquisition {
  /** 16 bytes that no other run has had. */
  readonly run: Uint8Array
  readonly number: number
}

export function encodeRemoteReference({ run, number }: Acquisition, size: number): Buffer {
  const bytes = Buffer.alloc(valueBytes)
  bytes[0] = format
  bytes.set(run, 1)
  bytes.writeDoubleLE(size, 1 + runBytes)
  bytes.writeDoubleLE(number, acquisitionAt)
  return bytes
}

/** Whether the remote reference was put after this grant. Throws `corrupt`. */
export function isNewer(value: Uint8Array, { run, number }: Acquisition): boolean {
  return isOfRun(value, run) && bufferOf(value).readDoubleLE(acquisitionAt) > number
}

/** Throws `corrupt`. */
export function isOfRun(value: Uint8Array, run: Uint8Array): boolean {
  const isKnown = value[0] === format ? value.length === valueBytes : value[0] === 1 && value.length === acquisitionAt
  if (!isKnown) throw storageErrors.corrupt('A remote reference has an unknown format.')
  return value[0] === format && Buffer.compare(value.subarray(1, 1 + runBytes), run) === 0
}

function bufferOf(value: Uint8Array): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

function entryKey(reference: string): Buffer {
  return Buffer.concat([Buffer.from([ownTable, 0x62]), Buffer.from(reference, 'latin1')])
}

/** Of the remote references of a blob: start and end of their derived entries. */
export function remoteReferenceEntriesOf(idInSet: string): [Buffer, Buffer] {
  const start = entryKey(idInSet)
  const end = Buffer.from(start)
  // Ids are letters and digits: there is always a greater byte.
  end[end.length - 1]!++
  return [start, end]
}

/** With the id that the blob has in its set. */
export function referenceFromEntry(key: Buffer): string {
  return key.latin1Slice(2)
}

export const deriveFromRemoteReference: Derive = (key, before, after, emit) => {
  const reference = referenceFromKey(key)
  if (groupOfReference(reference) === noGroup) return
  if (before !== undefined) emit.delete(entryKey(reference))
  if (after !== undefined) emit.put(entryKey(reference), nothing)
}

export function isRemoteReference(key: Buffer): boolean {
  return key[1] === remoteReferenceStart[1]
}
