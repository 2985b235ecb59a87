/** What a record of this plugin's tables is of, and where those of a bucket lie: for who looks at records as such, such as healing. */

import { recordTable as table } from 'svc/plugins/storage/api'
import { bucketRange, escapeKey, unescapeKey } from './keys.ts'

/**
 * `object`: a version. `upload`: an upload or a part of one, whose key is empty. `bucket`: the bucket itself. `system`: no record of
 * this plugin.
 */
export interface RecordPlace {
  readonly kind: 'object' | 'upload' | 'bucket' | 'system'
  readonly bucket: string
  /** Of the object; empty where there is none. */
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

/** Start and end of every version below a prefix; without one, of uploads and their parts, too. */
export function recordRanges(bucket: string, prefix: string): readonly (readonly [start: Buffer, end: Buffer])[] {
  const versions = bucketRange(table.object, bucket, escapeKey(prefix))
  if (prefix !== '') return [versions]
  return [versions, bucketRange(table.part, bucket), bucketRange(table.upload, bucket)]
}
