/**
 * Record keys of the plugin. The first byte is the table; within a table records are sorted as S3 lists them: by bucket, then by the
 * UTF-8 bytes of the object key.
 *
 *     b <bucket>                                    a bucket
 *     o <bucket> 00 <key> 00                        the current version of an object
 *     o <bucket> 00 <key> 00 <8 bytes>              an older version; the bytes sort the newest first
 *     u <bucket> 00 <key> 00 <upload id>            a multipart upload
 *     p <bucket> 00 <upload id> <2 bytes>           a part of it, by number
 *     a <bucket> 00 <kind> <3 bytes> <rest>         (derived) the index of due times: see `due.ts`
 *     c <bucket> [00 <first prefix>]                (derived) the bucket's counters, and those of its top-level prefixes
 *     t <3 bytes> <16 bytes>                        a completed request, by day and hash of its token: see `tokens.ts`
 *
 * An object key may contain the bytes 00 and 01; they are escaped as 01 01 and 01 02. That keeps the order, and leaves 00 as a terminator
 * that sorts before everything else: `a` comes before `a/b`, and both can exist.
 */

import { bucketKey, recordTable as table } from 'svc/plugins/storage/api'

const end = Buffer.from([0])

/** The escaped bytes of an object key. */
export function escapeKey(key: string): Buffer {
  const bytes = Buffer.from(key, 'utf8')
  if (!bytes.includes(0) && !bytes.includes(1)) return bytes
  const escaped = Buffer.allocUnsafe(bytes.length * 2)
  let length = 0
  for (const byte of bytes) {
    if (byte > 1) escaped[length++] = byte
    else {
      escaped[length++] = 1
      escaped[length++] = byte + 1
    }
  }
  return escaped.subarray(0, length)
}

/** The unescaped object key in `bytes` from `from` to `to`. */
export function unescapeKey(bytes: Buffer, from: number, to: number): string {
  const firstEscape = bytes.indexOf(1, from)
  if (firstEscape === -1 || firstEscape >= to) return bytes.toString('utf8', from, to)
  const plain = Buffer.allocUnsafe(to - from)
  let length = 0
  for (let i = from; i < to; i++) {
    const byte = bytes[i]!
    plain[length++] = byte === 1 ? bytes[++i]! - 1 : byte
  }
  return plain.toString('utf8', 0, length)
}

function join(tableByte: number, bucket: string, ...rest: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.from([tableByte]), Buffer.from(bucket, 'latin1'), end, ...rest])
}

/** Record key of an object's current version. On the hot path: one allocation if the key needs no escapes. */
export function objectKey(bucket: string, key: string): Buffer {
  return plainObjectKey(bucket, key) ?? anyObjectKey(bucket, key)
}

/** Longer texts are written faster at once than character by character. */
const plainCharsMax = 96

/** Of a short key of ASCII characters, which needs no escapes: no other is looked at twice. */
function plainObjectKey(bucket: string, key: string): Buffer | undefined {
  const start = bucket.length + 2
  if (key.length > plainCharsMax) return undefined
  const record = Buffer.allocUnsafe(start + key.length + 1)
  record[0] = table.object
  for (let i = 0; i < bucket.length; i++) record[i + 1] = bucket.charCodeAt(i)
  record[start - 1] = 0
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i)
    if (code < 2 || code > 127) return undefined
    record[start + i] = code
  }
  record[start + key.length] = 0
  return record
}

function anyObjectKey(bucket: string, key: string): Buffer {
  const keyBytes = Buffer.byteLength(key)
  const start = bucket.length + 2
  const record = Buffer.allocUnsafe(start + keyBytes + 1)
  record[0] = table.object
  record.write(bucket, 1, 'latin1')
  record[start - 1] = 0
  record.write(key, start, 'utf8')
  const first = record.subarray(start, start + keyBytes)
  if (first.includes(0) || first.includes(1)) return join(table.object, bucket, escapeKey(key), end)
  record[start + keyBytes] = 0
  return record
}

/** Record key of an older version: behind the current one, newest first. */
export function olderVersionKey(current: Buffer, sequence: number): Buffer {
  const key = Buffer.allocUnsafe(current.length + 8)
  current.copy(key)
  key.writeBigUInt64BE(0xffff_ffff_ffff_ffffn - BigInt(sequence), current.length)
  return key
}

/** Range of the older versions of an object: start (inclusive) and end (exclusive). */
export function olderVersions(current: Buffer): [Buffer, Buffer] {
  return [behind(current), successor(current)]
}

/** The smallest key after this one. */
export function behind(key: Buffer): Buffer {
  return Buffer.concat([key, end])
}

/** Offset of the escaped object key inside an `o` or `u` record key. */
export function objectKeyOffset(bucket: string): number {
  return bucket.length + 2
}

/** Range of a table's records in one bucket below an escaped prefix: start (inclusive) and end (exclusive). */
export function bucketRange(tableByte: number, bucket: string, prefix: Buffer = Buffer.alloc(0)): [Buffer, Buffer] {
  const start = join(tableByte, bucket, prefix)
  return [start, successor(start)]
}

/** The smallest key greater than every key with this prefix, which must have a byte below ff. */
export function successor(prefix: Buffer): Buffer {
  let last = prefix.length - 1
  while (prefix[last] === 0xff) last--
  const next = Buffer.from(prefix.subarray(0, last + 1))
  next[last]!++
  return next
}

/** The first record key that can follow `key` and all its older versions. */
export function afterObject(tableByte: number, bucket: string, key: string): Buffer {
  return join(tableByte, bucket, escapeKey(key), Buffer.from([1]))
}

export function uploadKey(bucket: string, key: string, uploadId: string): Buffer {
  return join(table.upload, bucket, escapeKey(key), end, Buffer.from(uploadId, 'latin1'))
}

export function partKey(bucket: string, uploadId: string, partNumber: number): Buffer {
  return join(table.part, bucket, Buffer.from(uploadId, 'latin1'), Buffer.from([partNumber >> 8, partNumber & 0xff]))
}

export function partRange(bucket: string, uploadId: string): [Buffer, Buffer] {
  return bucketRange(table.part, bucket, Buffer.from(uploadId, 'latin1'))
}

export function isUploadId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text)
}

/** The part number in a part's record key. */
export function partNumberOf(key: Uint8Array): number {
  return (key[key.length - 2]! << 8) | key[key.length - 1]!
}

export function counterKey(bucket: string): Buffer {
  const key = bucketKey(bucket)
  key[0] = table.counter
  return key
}
