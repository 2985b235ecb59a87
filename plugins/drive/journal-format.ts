/**
 * The byte format of the journal: encoders and decoders without I/O. A segment is a 4 KiB header and batches, each on a 4 KiB
 * boundary. One write carries one batch: a header, the bodies of its puts, then its transactions, each a header and entries.
 * Little-endian.
 *
 *     segment  0 "svcseg1\0"  8 u32 crc of 12…64  12 u32 format  16 u32 number  20 u32 end of the previous segment
 *              24 f64 number of its first batch  32 u32 crc of the previous batch  36 …zero  48 16 bytes drive id
 *     batch    0 u32 magic  4 u32 crc of 8…48 and of the transactions  8 8 bytes salt  16 f64 batch number
 *              24 u32 crc of the previous batch  28 u32 bytes behind the header  32 u32 transactions  36 u32 bytes of bodies
 *              40 …zero  48 bodies, then transactions
 *     transaction  0 u32 entry bytes  4 f64 sequence  12 entries
 *     put      u8 1 | flags, u16 key size, u32 value size, key, value,
 *              [u32 offset, u32 size, u32 check]               own body (flag 16), in this segment
 *              [u32 segment, u32 offset, u32 size, u32 check]  body of another entry (flag 32)
 *              [u16 count, count × 26 bytes]                   blobs (flag 64)
 *     delete   u8 2, u16 key size, u32 guard segment, key
 *
 * - Each body has its own checksum in its put entry. The batch checksum covers the entries, and so the bodies indirectly.
 * - The salt is secret and differs per segment, so no client can upload a body that passes for a batch.
 * - The batch number and the checksum of the previous batch reveal a missing or replaced batch.
 */
import { createHash } from 'node:crypto'
import { crc32 } from '@node-rs/crc32'
import type { BodyRef } from 'svc/plugins/storage/api'
import { blockBytes } from './aligned-memory.ts'
import { blobIdBytes } from './stored-record.ts'

export const segmentFormat = 1
export const segmentHeaderBytes = blockBytes
export const batchHeaderBytes = 48
export const transactionHeaderBytes = 12
const segmentMagic = Buffer.from('svcseg1\0', 'latin1')
const batchMagic = 0x42637673
const kind = { put: 1, delete: 2 } as const
const kindMask = 15
const flag = { ownBody: 16, movedBody: 32, blobs: 64 } as const

export interface SegmentHeader {
  readonly number: number
  readonly driveId: Buffer
  /** Where the previous segment ends; 0 for the first segment. */
  readonly previousEnd: number
  readonly firstBatch: number
  readonly previousCrc: number
}

/** The salt of a segment: derived from the drive's secret key. */
export function segmentSalt(journalKey: Buffer, segment: number): Buffer {
  return createHash('sha256').update(journalKey).update(String(segment)).digest().subarray(0, 8)
}

export function encodeSegmentHeader(header: SegmentHeader, target: Buffer): void {
  target.fill(0, 0, segmentHeaderBytes)
  segmentMagic.copy(target)
  target.writeUInt32LE(segmentFormat, 12)
  target.writeUInt32LE(header.number, 16)
  target.writeUInt32LE(header.previousEnd, 20)
  target.writeDoubleLE(header.firstBatch, 24)
  target.writeUInt32LE(header.previousCrc, 32)
  header.driveId.copy(target, 48, 0, 16)
  target.writeUInt32LE(crc32(target.subarray(12, 64)), 8)
}

/** Undefined when these bytes are not an intact segment header. */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader | undefined {
  if (bytes.length < 64 || segmentMagic.compare(bytes, 0, 8) !== 0) return undefined
  if (crc32(bytes.subarray(12, 64)) !== bytes.readUInt32LE(8) || bytes.readUInt32LE(12) !== segmentFormat)
    return undefined
  return {
    number: bytes.readUInt32LE(16),
    previousEnd: bytes.readUInt32LE(20),
    firstBatch: bytes.readDoubleLE(24),
    previousCrc: bytes.readUInt32LE(32),
    driveId: Buffer.from(bytes.subarray(48, 64)),
  }
}

export interface BatchHeader {
  readonly crc: number
  readonly number: number
  readonly previousCrc: number
  readonly payloadBytes: number
  readonly transactionCount: number
  /** Bytes of the bodies, which follow the header. */
  readonly bodyBytes: number
}

export interface BatchSeal {
  readonly salt: Buffer
  readonly number: number
  readonly previousCrc: number
  readonly transactionCount: number
  readonly bodyBytes: number
}

/** Writes the header of a batch whose bodies and transactions are already in `batch`. Returns the batch's checksum. */
export function sealBatch(batch: Buffer, seal: BatchSeal): number {
  batch.fill(0, 0, batchHeaderBytes)
  batch.writeUInt32LE(batchMagic, 0)
  seal.salt.copy(batch, 8)
  batch.writeDoubleLE(seal.number, 16)
  batch.writeUInt32LE(seal.previousCrc, 24)
  batch.writeUInt32LE(batch.length - batchHeaderBytes, 28)
  batch.writeUInt32LE(seal.transactionCount, 32)
  batch.writeUInt32LE(seal.bodyBytes, 36)
  const crc = batchCrc(batch, seal.bodyBytes)
  batch.writeUInt32LE(crc, 4)
  return crc
}

function batchCrc(batch: Buffer, bodyBytes: number): number {
  return crc32(batch.subarray(batchHeaderBytes + bodyBytes), crc32(batch.subarray(8, batchHeaderBytes)))
}

/** Undefined when these bytes do not begin with a batch header of this segment. */
export function decodeBatchHeader(bytes: Buffer, salt: Buffer): BatchHeader | undefined {
  if (bytes.length < batchHeaderBytes || bytes.readUInt32LE(0) !== batchMagic) return undefined
  if (salt.compare(bytes, 8, 16) !== 0) return undefined
  return {
    crc: bytes.readUInt32LE(4),
    number: bytes.readDoubleLE(16),
    previousCrc: bytes.readUInt32LE(24),
    payloadBytes: bytes.readUInt32LE(28),
    transactionCount: bytes.readUInt32LE(32),
    bodyBytes: bytes.readUInt32LE(36),
  }
}

/** Whether header and entries match the checksum. It does not cover bodies: see `hasIntactBodies`. */
export function isBatchIntact(batch: Buffer, header: BatchHeader): boolean {
  return header.bodyBytes <= header.payloadBytes && batchCrc(batch, header.bodyBytes) === header.crc
}

export interface PutEntry {
  readonly kind: 'put'
  readonly key: Buffer
  readonly value: Buffer
  readonly body: BodyRef | undefined
  readonly bodyMoved: boolean
  readonly blobs: readonly string[]
  readonly bytes: number
}

export interface DeleteEntry {
  readonly kind: 'delete'
  readonly key: Buffer
  readonly guard: number
  readonly bytes: number
}

export type JournalEntry = PutEntry | DeleteEntry

/** Walks the transactions of an intact batch of `segment`. */
export function* readTransactions(
  batch: Buffer,
  header: BatchHeader,
  segment: number,
): Generator<{ readonly sequence: number; readonly entries: readonly JournalEntry[] }> {
  let at = batchHeaderBytes + header.bodyBytes
  for (let i = 0; i < header.transactionCount; i++) {
    const end = at + transactionHeaderBytes + batch.readUInt32LE(at)
    const sequence = batch.readDoubleLE(at + 4)
    const entries: JournalEntry[] = []
    for (at += transactionHeaderBytes; at < end; at += entries.at(-1)!.bytes)
      entries.push(readEntry(batch, at, segment))
    yield { sequence, entries }
  }
}

/** Whether the bodies of a batch at `offset` match the checksums in its entries. */
export function hasIntactBodies(batch: Buffer, header: BatchHeader, segment: number, offset: number): boolean {
  for (const { entries } of readTransactions(batch, header, segment)) {
    for (const entry of entries) {
      if (entry.kind !== 'put' || entry.body === undefined || entry.bodyMoved) continue
      const start = entry.body.offset - offset
      if (crc32(batch.subarray(start, start + entry.body.size)) !== entry.body.check) return false
    }
  }
  return true
}

function readEntry(bytes: Buffer, start: number, segment: number): JournalEntry {
  const head = bytes[start]!
  const keySize = bytes.readUInt16LE(start + 1)
  let at = start + 7
  const key = bytes.subarray(at, at + keySize)
  at += keySize
  if ((head & kindMask) === kind.delete) {
    return { kind: 'delete', key, guard: bytes.readUInt32LE(start + 3), bytes: at - start }
  }
  const valueSize = bytes.readUInt32LE(start + 3)
  const value = bytes.subarray(at, at + valueSize)
  at += valueSize
  let body: BodyRef | undefined
  if ((head & (flag.ownBody | flag.movedBody)) !== 0) {
    const bodySegment = (head & flag.movedBody) === 0 ? segment : bytes.readUInt32LE(at)
    if ((head & flag.movedBody) !== 0) at += 4
    body = {
      segment: bodySegment,
      offset: bytes.readUInt32LE(at),
      size: bytes.readUInt32LE(at + 4),
      check: bytes.readUInt32LE(at + 8),
    }
    at += 12
  }
  const blobs: string[] = []
  if ((head & flag.blobs) !== 0) {
    const count = bytes.readUInt16LE(at)
    at += 2
    for (let i = 0; i < count; i++, at += blobIdBytes) blobs.push(bytes.latin1Slice(at, at + blobIdBytes))
  }
  return { kind: 'put', key, value, body, bodyMoved: (head & flag.movedBody) !== 0, blobs, bytes: at - start }
}

/** The encoded transactions of the batch that is being filled. The buffer grows as needed. */
export class EntryWriter {
  bytes = Buffer.allocUnsafeSlow(65_536)
  length = 0
  #start = 0

  begin(): void {
    this.#start = this.length
    this.#reserve(transactionHeaderBytes)
    this.length += transactionHeaderBytes
  }

  /** Whether the current transaction has entries. */
  get hasEntries(): boolean {
    return this.length > this.#start + transactionHeaderBytes
  }

  end(sequence: number): void {
    this.bytes.writeUInt32LE(this.length - this.#start - transactionHeaderBytes, this.#start)
    this.bytes.writeDoubleLE(sequence, this.#start + 4)
  }

  cancel(): void {
    this.length = this.#start
  }

  put(key: Uint8Array, value: Uint8Array, body: BodyRef | undefined, moved: boolean, blobs: readonly string[]): number {
    const start = this.length
    this.#reserve(7 + key.length + value.length + 16 + 2 + blobs.length * blobIdBytes)
    const { bytes } = this
    bytes[start] =
      kind.put |
      (body === undefined ? 0 : moved ? flag.movedBody : flag.ownBody) |
      (blobs.length === 0 ? 0 : flag.blobs)
    bytes.writeUInt16LE(key.length, start + 1)
    bytes.writeUInt32LE(value.length, start + 3)
    bytes.set(key, start + 7)
    let at = start + 7 + key.length
    bytes.set(value, at)
    at += value.length
    if (body !== undefined) {
      if (moved) {
        bytes.writeUInt32LE(body.segment, at)
        at += 4
      }
      bytes.writeUInt32LE(body.offset, at)
      bytes.writeUInt32LE(body.size, at + 4)
      bytes.writeUInt32LE(body.check, at + 8)
      at += 12
    }
    if (blobs.length > 0) {
      bytes.writeUInt16LE(blobs.length, at)
      at += 2
      for (const id of blobs) {
        bytes.latin1Write(id, at, blobIdBytes)
        at += blobIdBytes
      }
    }
    this.length = at
    return at - start
  }

  delete(key: Uint8Array, guard: number): number {
    const start = this.length
    this.#reserve(7 + key.length)
    this.bytes[start] = kind.delete
    this.bytes.writeUInt16LE(key.length, start + 1)
    this.bytes.writeUInt32LE(guard, start + 3)
    this.bytes.set(key, start + 7)
    this.length = start + 7 + key.length
    return 7 + key.length
  }

  #reserve(extra: number): void {
    const needed = this.length + extra
    if (needed <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }
}
