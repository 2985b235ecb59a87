/**
 * The digest of an index: the number of entries and the sum of a hash over table, key and value of each, modulo 2^32. Every
 * change updates it and every checkpoint stores it. The sum does not depend on the order, so a change costs one subtraction and
 * one addition.
 *
 * LMDB has no checksums. A missing, duplicated, altered or misplaced entry changes the digest, except with a probability of
 * 2^-32.
 */
import { crc32 } from '@node-rs/crc32'
import type { IndexTable } from './index-store.ts'

export interface IndexDigest {
  readonly count: number
  /** An unsigned 32-bit number. */
  readonly sum: number
}

export const emptyDigest: IndexDigest = { count: 0, sum: 0 }

const tableNumber: Readonly<Record<IndexTable, number>> = { records: 1, derived: 2, counters: 3, internal: 4 }

/** `valueCheck` is the checksum of the value: for a record the one at its beginning, otherwise crc32. */
export function entryHash(table: IndexTable, key: Uint8Array, valueCheck: number): number {
  let hash = Math.imul(crc32(key) ^ tableNumber[table], 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 15) ^ valueCheck, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** A digest that changes with its entries. */
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

  /** Adds a digest, or a difference between two digests. */
  absorb(other: IndexDigest): void {
    this.count += other.count
    this.sum = (this.sum + other.sum) >>> 0
  }
}
