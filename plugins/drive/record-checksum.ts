/**
 * The checksum at the beginning of a stored record. This file imports nothing, so that the index check runs without the server.
 */
import { crc32 } from '@node-rs/crc32'

/** Covers the whole buffer, with zeros in place of the checksum: a view of the rest would cost more than hashing four bytes. */
export function checksum(stored: Buffer): number {
  stored.writeUInt32LE(0, 0)
  return crc32(stored)
}
