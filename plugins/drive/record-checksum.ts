/** The checksum that a stored record begins with. Imports nothing of the server: the check of the index runs without it. */
import { crc32 } from 'node:zlib'

/** Over the whole buffer with zeros in the checksum's place: a view of the rest would cost more than these four bytes. */
export function checksum(stored: Buffer): number {
  stored.writeUInt32LE(0, 0)
  return crc32(stored)
}
