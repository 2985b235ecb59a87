/**
 * The record format of a set: a head, which says where the bytes are, and the value of the storage's user. Every drive of the set has
 * every record; of a body or blob each drive has one shard. Little-endian.
 *
 *     0 u8 format  1 u8 flags  2 u8 data shards  3 u8 parity shards  4 u8 rotation  5 u8 slots  6 u16 blobs
 *     8 f64 identity of the data: the sequence of the commit that wrote it
 *     16 u32 bytes of the body  20 u32 crc32 of the body  24 f64 data bytes: of the body, or of all blobs
 *     32 generations, one byte a slot; then for each blob its id (26) and size (f64); then a body that is stored whole; then the value
 *
 * Format 2 is for data with less parity than its set: bits 4 to 7 of the flags say how many shards less (of the blob with the fewest),
 * and each blob has its number of parity shards (u8) behind its size. All other records have format 1.
 *
 * A *generation* identifies the drive in a slot: 1 is the first drive, and each replacement increases it. If the head has the generation
 * of the slot's present drive, that drive has the shards of this record; if it has 0 or another one, that drive lacks them.
 */
import { storageErrors } from 'svc/plugins/storage/api'

const format = { full: 1, reduced: 2 } as const
const headBytes = 32
export const blobIdBytes = 26
const blobEntryBytes = blobIdBytes + 8
const flag = { sharded: 1, whole: 2 } as const
const lessParityShift = 4

export interface BlobEntry {
  readonly id: string
  readonly size: number
  /** Undefined if it is the parity of the set. */
  readonly parityCount: number | undefined
}

/** Where the bytes of a record are. */
export interface RecordHead {
  /** `sharded`: a shard beside each drive's record. `whole`: the body in every record. */
  readonly body: 'none' | 'sharded' | 'whole'
  readonly dataCount: number
  readonly parityCount: number
  /** Parity of the set minus `parityCount`. */
  readonly lessParity: number
  /** Shard i lies in slot (i + rotation) modulo the number of slots. */
  readonly rotation: number
  readonly identity: number
  readonly bodyBytes: number
  readonly bodyCheck: number
  readonly dataBytes: number
  /** By slot; empty for a record without shards. */
  readonly generations: Uint8Array
  readonly blobs: readonly BlobEntry[]
}

const noBlobs: readonly BlobEntry[] = []
const noGenerations = new Uint8Array(0)

/** Head of a record that is only its value. */
export const plainHead: RecordHead = {
  body: 'none',
  dataCount: 0,
  parityCount: 0,
  lessParity: 0,
  rotation: 0,
  identity: 0,
  bodyBytes: 0,
  bodyCheck: 0,
  dataBytes: 0,
  generations: noGenerations,
  blobs: noBlobs,
}

export function hasShards(head: RecordHead): boolean {
  return head.generations.length > 0
}

/** `whole`: the body that is stored in the record. */
export function encodeRecord(head: RecordHead, value: Uint8Array, whole?: Uint8Array): Buffer {
  const { generations, blobs, lessParity } = head
  const entryBytes = lessParity === 0 ? blobEntryBytes : blobEntryBytes + 1
  const bytes = Buffer.allocUnsafe(
    headBytes + generations.length + blobs.length * entryBytes + (whole?.length ?? 0) + value.length,
  )
  bytes[0] = lessParity === 0 ? format.full : format.reduced
  bytes[1] =
    (head.body === 'sharded' ? flag.sharded : head.body === 'whole' ? flag.whole : 0) | (lessParity << lessParityShift)
  bytes[2] = head.dataCount
  bytes[3] = head.parityCount
  bytes[4] = head.rotation
  bytes[5] = generations.length
  bytes.writeUInt16LE(blobs.length, 6)
  bytes.writeDoubleLE(head.identity, 8)
  bytes.writeUInt32LE(head.bodyBytes, 16)
  bytes.writeUInt32LE(head.bodyCheck, 20)
  bytes.writeDoubleLE(head.dataBytes, 24)
  bytes.set(generations, headBytes)
  let at = headBytes + generations.length
  for (const { id, size, parityCount } of blobs) {
    bytes.latin1Write(id, at, blobIdBytes)
    bytes.writeDoubleLE(size, at + blobIdBytes)
    if (lessParity > 0) bytes[at + blobEntryBytes] = parityCount ?? head.parityCount + lessParity
    at += entryBytes
  }
  if (whole !== undefined) {
    bytes.set(whole, at)
    at += whole.length
  }
  bytes.set(value, at)
  return bytes
}

function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function requireFormat(stored: Uint8Array): Buffer {
  if (stored.length < headBytes || (stored[0] !== format.full && stored[0] !== format.reduced)) {
    throw storageErrors.corrupt(`A record of the set has the unknown format ${stored[0]}.`)
  }
  return asBuffer(stored)
}

function wholeStart(bytes: Buffer): number {
  return headBytes + bytes[5]! + bytes.readUInt16LE(6) * entryBytesOf(bytes)
}

function entryBytesOf(bytes: Buffer): number {
  return bytes[0] === format.full ? blobEntryBytes : blobEntryBytes + 1
}

function valueStart(bytes: Buffer): number {
  return wholeStart(bytes) + ((bytes[1]! & flag.whole) === 0 ? 0 : bytes.readUInt32LE(16))
}

/** The value of the storage's user; a view. */
export function userValueOf(stored: Uint8Array): Buffer {
  const bytes = requireFormat(stored)
  return bytes.subarray(valueStart(bytes))
}

/** A view of the body that is stored whole; undefined if there is none. */
export function wholeOf(stored: Uint8Array): Buffer | undefined {
  const bytes = requireFormat(stored)
  return (bytes[1]! & flag.whole) === 0 ? undefined : bytes.subarray(wholeStart(bytes), valueStart(bytes))
}

export function hasBody(stored: Uint8Array): boolean {
  return (requireFormat(stored)[1]! & (flag.sharded | flag.whole)) !== 0
}

/** Generations by slot, a view; empty for a record without shards. */
export function generationsOf(stored: Uint8Array): Buffer {
  const bytes = requireFormat(stored)
  return bytes.subarray(headBytes, headBytes + bytes[5]!)
}

export function dataBytesOf(stored: Uint8Array): number {
  return requireFormat(stored).readDoubleLE(24)
}

export function identityOf(stored: Uint8Array): number {
  return requireFormat(stored).readDoubleLE(8)
}

export function encodeIdentity(identity: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeDoubleLE(identity)
  return bytes
}

export function decodeIdentity(bytes: Uint8Array): number {
  return asBuffer(bytes).readDoubleLE(0)
}

/** Whether the shards beside two records belong to the same body. Clocks may go back, so the identity alone is not enough. */
export function isSameBody(a: Uint8Array, b: Uint8Array): boolean {
  const [one, other] = [requireFormat(a), requireFormat(b)]
  const isBoth = (one[1]! & other[1]! & flag.sharded) !== 0
  return isBoth && one.compare(other, 2, 5, 2, 5) === 0 && one.compare(other, 8, 24, 8, 24) === 0
}

export function headOf(stored: Uint8Array): RecordHead {
  const bytes = requireFormat(stored)
  if (bytes[5] === 0 && bytes[1] === 0) return plainHead
  const flags = bytes[1]!
  return {
    body: (flags & flag.sharded) !== 0 ? 'sharded' : (flags & flag.whole) !== 0 ? 'whole' : 'none',
    dataCount: bytes[2]!,
    parityCount: bytes[3]!,
    lessParity: flags >> lessParityShift,
    rotation: bytes[4]!,
    identity: bytes.readDoubleLE(8),
    bodyBytes: bytes.readUInt32LE(16),
    bodyCheck: bytes.readUInt32LE(20),
    dataBytes: bytes.readDoubleLE(24),
    // A copy: the record is only valid for this turn.
    generations: Uint8Array.prototype.slice.call(bytes, headBytes, headBytes + bytes[5]!),
    blobs: blobsOf(bytes),
  }
}

export function blobsOf(stored: Uint8Array): readonly BlobEntry[] {
  const bytes = requireFormat(stored)
  const count = bytes.readUInt16LE(6)
  if (count === 0) return noBlobs
  const blobs: BlobEntry[] = new Array(count)
  const entryBytes = entryBytesOf(bytes)
  let at = headBytes + bytes[5]!
  for (let i = 0; i < count; i++, at += entryBytes) {
    blobs[i] = {
      id: bytes.latin1Slice(at, at + blobIdBytes),
      size: bytes.readDoubleLE(at + blobIdBytes),
      parityCount: entryBytes === blobEntryBytes ? undefined : bytes[at + blobEntryBytes],
    }
  }
  return blobs
}

/** The same record with other generations. */
export function withGenerations(stored: Uint8Array, generations: Uint8Array): Buffer {
  const copy = Buffer.from(requireFormat(stored))
  if (copy[5] !== generations.length) throw new RangeError('a record has as many generations as its set has slots')
  copy.set(generations, headBytes)
  return copy
}
