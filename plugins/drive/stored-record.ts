/**
 * The encoding of a record in the index and the memtable: a head with the locations of its journal entry and its body (the bytes of a
 * small object, which lie in the journal), the ids of its blobs (of a larger one, each a file), then the caller's value. Little-endian
 * offsets:
 *
 *      0  u32  crc32 of the record, with these four bytes zero; verified when it comes out of the index
 *      4  u8   flags: 1 it has a body, 2 the body lies in the journal entry of an earlier write, 4 it has blobs
 *      5  u32  segment of the journal entry
 *      9  f64  sequence of the journal entry's transaction; together with the key it identifies the entry
 *     17  u32  bytes of the entry in its segment, without the body
 *     21  [u32 segment, u32 offset, u32 size, u32 check]   with flag 1
 *         [u16 count, count × a blob id of 26 bytes]       with flag 4
 *         value
 */
import type { BodyRef } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { checksum } from './record-checksum.ts'

export const recordFlag = { body: 1, moved: 2, blobs: 4 } as const
export const blobIdBytes = 26
const fixedBytes = 21
const bodyBytes = 16

export interface EntryLocation {
  readonly segment: number
  readonly sequence: number
  readonly bytes: number
}

export function encodeStored(
  entry: EntryLocation,
  body: BodyRef | undefined,
  bodyMoved: boolean,
  blobs: readonly string[],
  value: Uint8Array,
): Buffer {
  const bodyEnd = fixedBytes + (body === undefined ? 0 : bodyBytes)
  const valueStart = bodyEnd + (blobs.length === 0 ? 0 : 2 + blobs.length * blobIdBytes)
  const stored = Buffer.allocUnsafe(valueStart + value.length)
  stored[4] =
    (body === undefined ? 0 : recordFlag.body) |
    (bodyMoved ? recordFlag.moved : 0) |
    (blobs.length === 0 ? 0 : recordFlag.blobs)
  stored.writeUInt32LE(entry.segment, 5)
  stored.writeDoubleLE(entry.sequence, 9)
  stored.writeUInt32LE(entry.bytes, 17)
  if (body !== undefined) {
    stored.writeUInt32LE(body.segment, fixedBytes)
    stored.writeUInt32LE(body.offset, fixedBytes + 4)
    stored.writeUInt32LE(body.size, fixedBytes + 8)
    stored.writeUInt32LE(body.check, fixedBytes + 12)
  }
  if (blobs.length > 0) {
    stored.writeUInt16LE(blobs.length, bodyEnd)
    for (let i = 0; i < blobs.length; i++) stored.latin1Write(blobs[i]!, bodyEnd + 2 + i * blobIdBytes, blobIdBytes)
  }
  stored.set(value, valueStart)
  return stored
}

function valueStart(stored: Buffer): number {
  const flags = stored[4]!
  const at = fixedBytes + ((flags & recordFlag.body) === 0 ? 0 : bodyBytes)
  return (flags & recordFlag.blobs) === 0 ? at : at + 2 + stored.readUInt16LE(at) * blobIdBytes
}

export function storedValue(stored: Buffer): Buffer {
  return stored.subarray(valueStart(stored))
}

export function storedBody(stored: Buffer): BodyRef | undefined {
  if ((stored[4]! & recordFlag.body) === 0) return undefined
  return {
    segment: stored.readUInt32LE(fixedBytes),
    offset: stored.readUInt32LE(fixedBytes + 4),
    size: stored.readUInt32LE(fixedBytes + 8),
    check: stored.readUInt32LE(fixedBytes + 12),
  }
}

export function isBodyMoved(stored: Buffer): boolean {
  return (stored[4]! & recordFlag.moved) !== 0
}

const noBlobs: readonly string[] = []

export function storedBlobs(stored: Buffer): readonly string[] {
  const flags = stored[4]!
  if ((flags & recordFlag.blobs) === 0) return noBlobs
  const at = fixedBytes + ((flags & recordFlag.body) === 0 ? 0 : bodyBytes)
  const blobs: string[] = new Array(stored.readUInt16LE(at))
  for (let i = 0; i < blobs.length; i++) {
    const start = at + 2 + i * blobIdBytes
    blobs[i] = stored.latin1Slice(start, start + blobIdBytes)
  }
  return blobs
}

export function storedEntry(stored: Buffer): EntryLocation {
  return { segment: stored.readUInt32LE(5), sequence: stored.readDoubleLE(9), bytes: stored.readUInt32LE(17) }
}

/** Writes the checksum of a complete record. */
export function sealStored(stored: Buffer): Buffer {
  stored.writeUInt32LE(checksum(stored), 0)
  return stored
}

/** Throws `corrupt` when a record read from the index does not match its checksum. */
export function verifyStored(stored: Buffer): Buffer {
  if (stored.length >= fixedBytes) {
    const expected = stored.readUInt32LE(0)
    const actual = checksum(stored)
    stored.writeUInt32LE(expected, 0)
    if (actual === expected) return stored
  }
  throw storageErrors.corrupt('A record in the index does not match its checksum.')
}

/** The checksum of a sealed record. */
export function storedCheck(stored: Buffer): number {
  return stored.readUInt32LE(0)
}
