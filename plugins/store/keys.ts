/**
 * Record keys of the store: the table `d`. Names of collections and buckets have no byte 00, so that the records of one name are adjacent.
 *
 *     d g <collection> 00 <id>        a global document; ids sort by their UTF-8 bytes
 *     d b <bucket> 00 <collection>    a document of a bucket: all documents of a bucket are adjacent, and are deleted with it
 *     d b <bucket> 00 ! <collection>  a document that keeps its bucket: while it is there, the bucket is not deleted
 *     d k deployment                  the key that seals secrets, itself sealed
 *     d n <collection>                (derived, counter) documents, documents with sealed fields
 */
import { recordTable } from 'svc/plugins/storage/api'

export type Scope = 'global' | 'bucket' | 'bucket-keeper'

/** Sorts before all names of collections. */
const keeperMark = '!'

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
  /** The bucket's name in a collection of buckets. */
  readonly id: string
}

/** Whether documents of this scope belong to buckets. */
export const isOfBucket = (scope: Scope): boolean => scope !== 'global'

/** Whether a document of this scope can have this id: 1 to 1024 bytes of UTF-8; a bucket's name in a collection of buckets. */
export function isDocumentId(scope: Scope, id: string): boolean {
  if (isOfBucket(scope)) return /^[a-z0-9.-]{3,63}$/.test(id)
  return id !== '' && id.length <= idBytesMax && id.isWellFormed() && Buffer.byteLength(id) <= idBytesMax
}

/** The record key of a document. The id must be valid (`isDocumentId`). */
export function documentKey(scope: Scope, collection: string, id: string): Buffer {
  if (scope === 'global') return join(part.global, collection, id)
  return join(part.bucket, id, scope === 'bucket' ? collection : keeperMark + collection)
}

/** The document that a record key names; undefined for the store's other records. */
export function parseDocumentKey(key: Buffer): DocumentPlace | undefined {
  const end = key.indexOf(0, 2)
  if (end === -1) return undefined
  const first = key.toString('latin1', 2, end)
  if (key[1] === part.global) return { scope: 'global', collection: first, id: key.toString('utf8', end + 1) }
  if (key[1] !== part.bucket) return undefined
  const name = key.toString('latin1', end + 1)
  return name.startsWith(keeperMark)
    ? { scope: 'bucket-keeper', collection: name.slice(keeperMark.length), id: first }
    : { scope: 'bucket', collection: name, id: first }
}

/**
 * The range of the documents of a collection whose ids begin with `prefix`: start and end. If the collection is one of buckets, the range
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

/** The documents that keep a bucket: start (inclusive) and end (exclusive). */
export function keeperRange(bucket: string): [Buffer, Buffer] {
  const start = join(part.bucket, bucket, keeperMark)
  return [start, successor(start)]
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
