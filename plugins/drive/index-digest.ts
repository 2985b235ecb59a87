/**
 * One number for all that the index holds, kept up to date with every change and written with every checkpoint: the sum over all
 * entries of a hash of table, key and value, and how many there are. It does not depend on the order, so a change costs one
 * subtraction and one addition. LMDB checks neither its pages nor its keys; an entry that is missing, doubled, altered or under
 * the wrong key shows in the sum, but for one case in 2^32.
 */
import { crc32 } from 'node:zlib'
import type { IndexTable } from './index-store.ts'

export interface IndexDigest {
  readonly count: number
  /** An unsigned 32-bit number. */
  readonly sum: number
}

export const emptyDigest: IndexDigest = { count: 0, sum: 0 }

const tableNumber: Readonly<Record<IndexTable, number>> = { records: 1, derived: 2, counters: 3, internal: 4 }

/** `valueCheck` is the checksum of the value: of a record the one that it begins with, of others their crc32. */
export function entryHash(table: IndexTable, key: Uint8Array, valueCheck: number): number {
  let hash = Math.imul(crc32(key) ^ tableNumber[table], 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 15) ^ valueCheck, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** A digest under change. */
export class RunningDigest implements IndexDigest {
  count = 0
  sum = 0

  add(hash: number): void {
    this.count++
    this.sum = (this.sum + hash) >>> 0
  }

  remove(hash: number): void {
    this.count--
    this.sum = (this.sum - hash) >>> 0
  }

  /** Adds a digest, or a difference of two. */
  absorb(other: IndexDigest): void {
    this.count += other.count
    this.sum = (this.sum + other.sum) >>> 0
  }
}
