/**
 * Shadows: the records of a set that has no others. Each is of one blob, which it refers to as records do: so all that a set does for its
 * records (repeating changes, catching up, healing, reading everything, counting) it does for blobs whose records lie in another set.
 *
 *     ff s 00, id in the set    u8 format 1, 16 bytes: the run of the server that wrote the blob, f64 size
 */
import { storageErrors } from 'svc/plugins/storage/api'
import { ownTable } from './references.ts'

const prefix = Buffer.from([ownTable, 0x73, 0])
const format = 1
const runBytes = 16
const valueBytes = 1 + runBytes + 8

export const shadowStart = prefix
export const shadowEnd = Buffer.from([ownTable, 0x73, 1])

/** Of the id that the blob has in its set. */
export function shadowKey(idInSet: string): Buffer {
  return Buffer.concat([prefix, Buffer.from(idInSet, 'latin1')])
}

export function idOfShadow(key: Buffer): string {
  return key.latin1Slice(prefix.length)
}

/** A run of the server: 16 bytes that no other has had. */
export function encodeShadow(run: Uint8Array, size: number): Buffer {
  const bytes = Buffer.alloc(valueBytes)
  bytes[0] = format
  bytes.set(run, 1)
  bytes.writeDoubleLE(size, 1 + runBytes)
  return bytes
}

/** Throws `corrupt`. */
export function isOfRun(value: Uint8Array, run: Uint8Array): boolean {
  if (value.length !== valueBytes || value[0] !== format) throw storageErrors.corrupt('A shadow has an unknown format.')
  return Buffer.compare(value.subarray(1, 1 + runBytes), run) === 0
}
