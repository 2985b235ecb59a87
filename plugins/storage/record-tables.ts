/**
 * The tables of the records: the first byte of a key names the plugin that wrote the record, and its kind. They are in one list,
 * so that no two plugins use the same byte. The code that makes the keys documents the bytes that follow. Table bytes are stored
 * on disk and never change.
 */
export const recordTable = {
  /** (derived) entries by the time at which they are due: objects. */
  due: 0x61,
  /** Buckets: objects. */
  bucket: 0x62,
  /** (derived) counters of buckets and prefixes: objects. */
  counter: 0x63,
  /** Documents: store. */
  document: 0x64,
  /** Versions of objects: objects. */
  object: 0x6f,
  /** Parts of uploads: objects. */
  part: 0x70,
  /** Entries that wait for delivery: queue. */
  queue: 0x71,
  /** Requests that were done, by their token: objects. */
  token: 0x74,
  /** Multipart uploads: objects. */
  upload: 0x75,
} as const

/** Key of a bucket's record. Other plugins with records of a bucket check in their commits that it exists. */
export function bucketKey(bucket: string): Buffer {
  const key = Buffer.allocUnsafe(bucket.length + 1)
  key[0] = recordTable.bucket
  key.latin1Write(bucket, 1)
  return key
}
