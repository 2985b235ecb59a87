/**
 * Record keys of the store: the table `d`. Names of collections and buckets have no byte 00, so that the records of one name are adjacent.
 *
 *     d g <collection> 00 <id>        a global document; ids sort by their UTF-8 bytes
 *     d b <bucket> 00 <collection>    a document of a bucket: all documents of a bucket are adjacent, and are deleted with it
 *     d k deployment                  the key that seals secrets, itself sealed
 *     d n <collection>                (derived, counter) documents, documents with sealed fields
 */
import { recordTable } from 'svc/plugins/storage/api'

export type Scope = 'global' | 'bucket'

const part = { global: 0x67, bucket: 0x62, key: 0x6b, count: 0x6e } as const
const idBytesMax = 1024

/** The record of the deployment key. */
export const deploymentKeyKey = Buffer.concat([
  Buffer.from([recordTable.document, part.key]),
  Buffer.from('deployment'),
])

export interface DocumentPlace {
  readonly scope: Scope
  readonly collection: string
  /** The bucket's name in a bucket-scoped collection. */
  readonly id: string
}

/** Whether a document of this scope can have this id: 1 to 1024 bytes of UTF-8; a bucket's name in a bucket-scoped collection. */
export function isDocumentId(scope: Scope, id: string): boolean {
  if (scope === 'bucket') return /^[a-z0-9.-]{3,63}$/.test(id)
  return id !== '' && id.length <= idBytesMax && id.isWellFormed() && Buffer.byteLength(id) <= idBytesMax
}

/** The record key of a document. The id must be valid (`isDocumentId`). */
export function documentKey(scope: Scope, collection: string, id: string): Buffer {
  return scope === 'global' ? join(part.global, collection, id) : join(part.bucket, id, collection)
}

/** The document that a record key names; undefined for the store's other records. */
export function parseDocumentKey(key: Buffer): DocumentPlace | undefined {
  const end = key.indexOf(0, 2)
  if (end === -1) return undefined
  const first = key.toString('latin1', 2, end)
  if (key[1] === part.global) return { scope: 'global', collection: first, id: key.toString('utf8', end + 1) }
  if (key[1] === part.bucket) return { scope: 'bucket', collection: key.toString('latin1', end + 1), id: first }
  return undefined
}

/**
 * The range of the documents of a collection whose ids begin with `prefix`: start and end. If the collection is bucket-scoped, the range
 * contains other collections, too.
 */
export function collectionRange(scope: Scope, collection: string, prefix: string): [Buffer, Buffer] {
  const start = scope === 'global' ? join(part.global, collection, prefix) : bytesOf(part.bucket, prefix)
  return [start, successor(start)]
}

/** The documents of a bucket in all collections: start (inclusive) and end (exclusive). */
export function bucketRange(bucket: string): [Buffer, Buffer] {
  return [join(part.bucket, bucket, ''), afterBucket(bucket)]
}

/** The first possible key behind all documents of a bucket. */
export function afterBucket(bucket: string): Buffer {
  return Buffer.concat([bytesOf(part.bucket, bucket), Buffer.from([1])])
}

/** The first possible key behind a global document. */
export function afterDocument(collection: string, id: string): Buffer {
  return Buffer.concat([join(part.global, collection, id), Buffer.from([0])])
}

/** The documents of all buckets: start and end. */
export function bucketDocuments(): [Buffer, Buffer] {
  const table = recordTable.document
  return [Buffer.from([table, part.bucket]), Buffer.from([table, part.bucket + 1])]
}

/** The documents of a collection that is not of buckets: start (inclusive) and end (exclusive). */
export function globalDocuments(collection: string): [Buffer, Buffer] {
  return collectionRange('global', collection, '')
}

/** All documents: start and end. */
export function allDocuments(): [Buffer, Buffer] {
  return [Buffer.from([recordTable.document, part.bucket]), Buffer.from([recordTable.document, part.global + 1])]
}

export function countKey(collection: string): Buffer {
  return bytesOf(part.count, collection)
}

function bytesOf(kind: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([recordTable.document, kind]), Buffer.from(text, 'utf8')])
}

function join(kind: number, first: string, second: string): Buffer {
  return bytesOf(kind, `${first}\0${second}`)
}

/** The smallest key behind all keys that begin with `prefix`. Its first byte is below ff. */
function successor(prefix: Buffer): Buffer {
  let last = prefix.length - 1
  while (prefix[last] === 0xff) last--
  const next = Buffer.from(prefix.subarray(0, last + 1))
  next[last]!++
  return next
}
