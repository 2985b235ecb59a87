/** Records as text, which every adapter can store: base64 of CRC-32 of all that follows, bytes of the head (16 bits), head, body. */
import { crc32 } from 'node:zlib'
import type { TierRecord } from 'svc/plugins/cache/api'

const headerBytes = 6

/** Characters of the value of a record, and what it costs beside them. */
export const valueBytesOf = ({ head, body }: TierRecord): number =>
  4 * Math.ceil((headerBytes + head.length + body.length) / 3)

/** `id`: so that the value of another key is none of this one. */
export function encodeValue(id: Buffer, { head, body }: TierRecord): string {
  const bytes = Buffer.concat([Buffer.alloc(headerBytes), head, body])
  bytes.writeUInt16LE(head.length, 4)
  bytes.writeUInt32LE(crc32(bytes.subarray(4), crc32(id)), 0)
  return bytes.toString('base64')
}

/** Undefined: no value that was written for this id. */
export function decodeValue(id: Buffer, value: unknown): TierRecord | undefined {
  if (typeof value !== 'string') return undefined
  const bytes = Buffer.from(value, 'base64')
  if (bytes.length < headerBytes || bytes.readUInt32LE(0) !== crc32(bytes.subarray(4), crc32(id))) return undefined
  const bodyAt = headerBytes + bytes.readUInt16LE(4)
  return bodyAt > bytes.length ? undefined : { head: bytes.subarray(headerBytes, bodyAt), body: bytes.subarray(bodyAt) }
}
