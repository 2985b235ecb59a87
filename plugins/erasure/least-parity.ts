/**
 * The least parity with which a set was ever allowed to store data. Data keeps the parity that it was written with, so what the
 * configuration says now tells nothing of what is stored. It is an ordinary record of the set, in the table that is reserved for
 * backends: drives that catch up or replace others get it like any other. It only ever decreases.
 *
 * A leader writes it, where it has to, in its first change (`describe`), before which it makes no other: so it is on a write quorum
 * before any record has data with that parity, and costs nothing later. `opening.ts` reads it.
 */
import type { RecordKey } from 'svc/plugins/storage/api'
import { encodeRecord, plainHead, userValueOf } from './set-record.ts'

/** Never changes: see docs/design/on-disk-format.md. */
export const leastParityKey: RecordKey = Buffer.from([0xff, 0x6c])

/** The record as each drive stores it. */
export function encodeLeastParity(parityCount: number): Buffer {
  return encodeRecord(plainHead, Buffer.from([parityCount]))
}

export function decodeLeastParity(record: Uint8Array): number {
  return userValueOf(record)[0]!
}
