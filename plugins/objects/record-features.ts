/**
 * Which features of a bucket or an object a record shows: for who has to know what stored data needs before anything is served. Pure
 * functions of single records.
 */
import { recordTable as table } from 'svc/plugins/storage/api'
import type { BucketDocument } from './bucket-document.ts'
import type { UploadDocument } from './commit.ts'
import { decodeDocument, isEncrypted } from './record.ts'

/** `bucket-…`: shown by the record of the bucket. `object-…`: by a version or an upload. Names are stored: they never change. */
export type RecordFeature = 'bucket-lock' | 'bucket-quota' | 'object-encryption'

interface FeatureRecords {
  /** Where records that can show the feature lie: start and end of each range. */
  readonly ranges: readonly (readonly [start: Buffer, end: Buffer])[]
  /** Whether this record, of one of the ranges, shows it. */
  shows(key: Buffer, value: Uint8Array): boolean
}

/** A locked version is in a bucket with object lock, which the bucket never loses: its record says enough. */
export const recordFeatures: Readonly<Record<RecordFeature, FeatureRecords>> = {
  'bucket-lock': {
    ranges: [tableRange(table.bucket)],
    shows: (_key, value) => decodeDocument<BucketDocument>(value).objectLock !== undefined,
  },
  'bucket-quota': {
    ranges: [tableRange(table.bucket)],
    shows: (_key, value) => decodeDocument<BucketDocument>(value).quotaBytes !== undefined,
  },
  'object-encryption': {
    // Uploads first: there are fewer of them.
    ranges: [tableRange(table.upload), tableRange(table.object)],
    shows: (key, value) =>
      key[0] === table.object ? isEncrypted(value) : Boolean(decodeDocument<UploadDocument>(value).encryption),
  },
}

function tableRange(byte: number): readonly [Buffer, Buffer] {
  return [Buffer.from([byte]), Buffer.from([byte + 1])]
}
