/**
 * The entry `position` of the index: the journal position that the index reaches, and the digest of all other entries. Written in
 * the same LMDB transaction as the changes it covers. Eight little-endian doubles: segment, offset, batch number, checksum of the
 * last batch, sequence, count and sum of the digest, crc32 of the preceding ones.
 */
import { crc32 } from '@node-rs/crc32'
import { decodeCounter, encodeCounter } from './bytes.ts'
import type { IndexDigest } from './index-digest.ts'
import type { IndexStore } from './index-store.ts'

/** The place of the next batch, and what chains it to the previous batch. */
export interface JournalPosition {
  readonly segment: number
  readonly offset: number
  /** Number of the next batch. */
  readonly batch: number
  /** Checksum of the last batch. */
  readonly crc: number
}

export interface IndexPosition {
  readonly position: JournalPosition
  readonly sequence: number
  readonly digest: IndexDigest
}

export const firstPosition: JournalPosition = { segment: 0, offset: 0, batch: 1, crc: 0 }

export const positionKey = Buffer.from('position')
const checkedBytes = 7 * 8

export function encodePosition({ position, sequence, digest }: IndexPosition): Buffer {
  const { segment, offset, batch, crc } = position
  const bytes = encodeCounter([segment, offset, batch, crc, sequence, digest.count, digest.sum, 0])
  bytes.writeDoubleLE(crc32(bytes.subarray(0, checkedBytes)), checkedBytes)
  return bytes
}

/** Undefined for an empty index; `damaged` when the entry does not verify. */
export function readPosition(index: IndexStore): IndexPosition | 'damaged' | undefined {
  const bytes = index.get('internal', positionKey)
  return bytes === undefined ? undefined : decodePosition(bytes)
}

export function decodePosition(bytes: Buffer): IndexPosition | 'damaged' {
  if (bytes.length !== checkedBytes + 8) return 'damaged'
  if (crc32(bytes.subarray(0, checkedBytes)) !== bytes.readDoubleLE(checkedBytes)) return 'damaged'
  const [segment, offset, batch, crc, sequence, count, sum] = decodeCounter(bytes) as number[]
  return {
    position: { segment: segment!, offset: offset!, batch: batch!, crc: crc! },
    sequence: sequence!,
    digest: { count: count!, sum: sum! },
  }
}
