/**
 * Maps record keys to buckets and objects, and buckets to key ranges, for code that handles records generically, such as healing.
 */
import { recordTable as table } from 'svc/plugins/storage/api'
import { bucketRange, escapeKey, unescapeKey } from './keys.ts'

/**
 * `object`: a version. `upload`: an upload or one of its parts, with an empty key. `bucket`: the bucket itself. `system`: a
 * record of another plugin.
 */
export interface RecordPlace {
  readonly kind: 'object' | 'upload' | 'bucket' | 'system'
  readonly bucket: string
  /** The object key; empty if there is none. */
  readonly key: string
}

const system: RecordPlace = { kind: 'system', bucket: '', key: '' }

export function placeOfRecord(record: Buffer): RecordPlace {
  if (record[0] === table.bucket) return { kind: 'bucket', bucket: record.latin1Slice(1), key: '' }
  const isObject = record[0] === table.object
  if (!isObject && record[0] !== table.upload && record[0] !== table.part) return system
  const bucketEnd = record.indexOf(0, 1)
  if (bucketEnd === -1) return system
  const bucket = record.latin1Slice(1, bucketEnd)
  if (record[0] === table.part) return { kind: 'upload', bucket, key: '' }
  const keyEnd = record.indexOf(0, bucketEnd + 1)
  if (keyEnd === -1) return system
  return { kind: isObject ? 'object' : 'upload', bucket, key: unescapeKey(record, bucketEnd + 1, keyEnd) }
}

/** Ranges of all versions below a prefix; without a prefix, of uploads and parts, too. */
export function recordRanges(bucket: string, prefix: string): readonly (readonly [start: Buffer, end: Buffer])[] {
  const versions = bucketRange(table.object, bucket, escapeKey(prefix))
  if (prefix !== '') return [versions]
  return [versions, bucketRange(table.part, bucket), bucketRange(table.upload, bucket)]
}
