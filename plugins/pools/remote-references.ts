/**
 * Remote references: the records of blob sets. A remote reference stands in a blob set for all records of one group that refer to one of its
 * blobs (see blob-references.ts), and refers to the blob as any record does. So whatever a set does for its records (replicating, catching up,
 * healing, scrubbing, counting) it also does for blobs whose records lie in the record set. The group comes first in the key, so the set's
 * ledger counts by it.
 *
 *     ff s group 00 id in the set    u8 format 2, 16 bytes: run of the server that wrote it, f64 size, f64 number of its acquisition
 *     derived ff b id group          empty: lists the remote references of a blob
 *
 * Format 1 ends with the size, and has neither group nor derived entry.
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

/** Common prefix of all keys of a group. */
export function remoteReferencesOf(group: string): Buffer {
  return Buffer.concat([remoteReferenceStart, Buffer.from(`${group}\0`, 'latin1')])
}

/** With the id that the blob has in its set. */
export function referenceFromKey(key: Buffer): string {
  const idStart = key.length - idBytes
  return blobReferenceOf(key.latin1Slice(idStart), key.latin1Slice(remoteReferenceStart.length, idStart - 1))
}

/** Which acquisition wrote a remote reference: acquisitions are numbered from 1 in each run of the server. */
export interface Acquisition {
  /** 16 random bytes for each run. */
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

/** Whether the remote reference was written after this acquisition. Throws `corrupt`. */
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

/** Start and end of the derived entries of a blob's remote references. */
export function remoteReferenceEntriesOf(idInSet: string): [Buffer, Buffer] {
  const start = entryKey(idInSet)
  const end = Buffer.from(start)
  // Ids are letters and digits, so there is always a greater byte.
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
