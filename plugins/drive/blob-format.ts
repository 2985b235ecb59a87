/**
 * The format of a blob file: the data, zeros up to 4 KiB, then a footer of a 32-byte trailer and the checksum table (one crc32 per
 * 256 KiB block of data, little-endian), and zeros up to 4 KiB. The record that references the blob has the crc32 of the table, so
 * an intact file of another blob is detected.
 *
 *     trailer  0 "svcblob1"  8 u32 format  12 u32 block bytes  16 f64 data bytes  24 u32 crc of the table  28 u32 crc of 0…28
 */
import { crc32 } from '@node-rs/crc32'
import { alignUp } from './aligned-memory.ts'
import { anyBlobCheck } from './api.ts'

export const blobBlockBytes = 256 * 1024
export const trailerBytes = 32
const magic = Buffer.from('svcblob1', 'latin1')
const format = 1

export function blockCount(sizeBytes: number): number {
  return Math.ceil(sizeBytes / blobBlockBytes)
}

export function footerOffset(sizeBytes: number): number {
  return alignUp(sizeBytes)
}

export function footerBytes(sizeBytes: number): number {
  return trailerBytes + blockCount(sizeBytes) * 4
}

export function encodeFooter(sizeBytes: number, checksums: readonly number[]): { footer: Buffer; check: number } {
  const footer = Buffer.alloc(trailerBytes + checksums.length * 4)
  for (let i = 0; i < checksums.length; i++) footer.writeUInt32LE(checksums[i]!, trailerBytes + i * 4)
  const check = crc32(footer.subarray(trailerBytes))
  magic.copy(footer)
  footer.writeUInt32LE(format, 8)
  footer.writeUInt32LE(blobBlockBytes, 12)
  footer.writeDoubleLE(sizeBytes, 16)
  footer.writeUInt32LE(check, 24)
  footer.writeUInt32LE(crc32(footer.subarray(0, 28)), 28)
  return { footer, check }
}

/**
 * The table of checksums. Undefined when the footer is not that of the referenced blob (with `anyBlobCheck`: of any blob of this
 * size).
 */
export function decodeFooter(footer: Buffer, sizeBytes: number, check: number): Buffer | undefined {
  if (footer.length !== footerBytes(sizeBytes) || magic.compare(footer, 0, 8) !== 0) return undefined
  if (crc32(footer.subarray(0, 28)) !== footer.readUInt32LE(28) || footer.readDoubleLE(16) !== sizeBytes)
    return undefined
  const table = footer.subarray(trailerBytes)
  const found = crc32(table)
  return footer.readUInt32LE(24) === found && (check === found || check === anyBlobCheck) ? table : undefined
}
