/**
 * RenameObject under the commit lock: the record moves to another key with its body, time and ETag; no bytes are copied. Only
 * where versioning has never been enabled, because a version belongs to the history of its key, and so does its lock.
 */
import { storageErrors, type Transaction } from 'svc/plugins/storage/api'
import type { ObjectAttributes, ObjectEncryption, RenameConditions } from './api.ts'
import { requireBucket } from './bucket-document.ts'
import { noSuchVersion, objectErrors } from './errors.ts'
import type { ObjectEvents, PackedOrigin } from './events.ts'
import { objectKey } from './keys.ts'
import { encryptionOf, etagOf, hasTags, modifiedOf, sequenceOf, withEncryption } from './record.ts'
import { noTags } from './tags.ts'
import { noteDone, wasDone } from './tokens.ts'
import { moveVersion } from './versions.ts'

export interface RenameArgs {
  readonly bucket: string
  readonly key: string
  readonly sourceKey: string
  readonly seen:
    | { readonly sequence: number; readonly tags: ObjectAttributes['tags']; readonly sealed: Uint8Array | undefined }
    | undefined
  readonly sourceConditions?: RenameConditions
  readonly conditions?: RenameConditions
  readonly clientToken?: string
  /** Encryption of the object under its new key. */
  readonly encryption?: ObjectEncryption
  readonly origin?: PackedOrigin
}

export const renameObject = (tx: Transaction, args: RenameArgs, events: ObjectEvents): void => {
  const bucket = requireBucket(tx, args.bucket)
  const done = args.clientToken === undefined ? undefined : doneRequest(args, args.clientToken, bucket.createdMs)
  if (done !== undefined && wasDone(tx, done)) return
  if (bucket.versioning !== undefined) {
    throw objectErrors.InvalidBucketState('Objects cannot be renamed in a bucket that has or had versioning enabled.')
  }
  const [from, to] = [objectKey(args.bucket, args.sourceKey), objectKey(args.bucket, args.key)]
  const record = tx.get(from)
  if (record === undefined) throw noSuchVersion(args.sourceKey, undefined)
  requireSeen(record.value, args.seen)
  requireConditions(record.value, args.sourceConditions, 'x-amz-rename-source-')
  requireConditions(tx.get(to)?.value, args.conditions, '')
  const value = args.encryption === undefined ? record.value : withEncryption(record.value, args.encryption)
  moveVersion(tx, bucket, { key: from, record: { ...record, value } }, to)
  if (events.wants(args.bucket)) {
    const place = { bucket: args.bucket, versionId: undefined }
    events.tell(tx, { ...place, name: 'ObjectCreated:Copy', key: args.key }, args.origin, tx.get(to)!.value)
    events.tell(tx, { ...place, name: 'ObjectRemoved:Delete', key: args.sourceKey }, args.origin)
  }
  if (done !== undefined) noteDone(tx, done)
}

/**
 * Digest of a request that was done. It includes the bucket's creation time, so a bucket created again ignores tokens of the
 * former one.
 */
function doneRequest({ bucket, key, sourceKey, ...args }: RenameArgs, token: string, createdMs: number) {
  const parameters = [key, sourceKey, args.sourceConditions, args.conditions].map(one => JSON.stringify(one ?? {}))
  return { scope: `rename/${bucket}/${createdMs}`, token, parameters: parameters.join('\n') }
}

/** The caller was authorized for the source in this state. */
function requireSeen(value: Uint8Array, seen: RenameArgs['seen']): void {
  if (seen !== undefined && sequenceOf(value) === seen.sequence && hasTags(value, seen.tags ?? noTags)) {
    const sealed = encryptionOf(value)?.sealed
    if (sealed === undefined ? seen.sealed === undefined : seen.sealed !== undefined && sealed.equals(seen.sealed))
      return
  }
  throw storageErrors.gone('The source changed while it was being renamed. Try again.')
}

/** Evaluated in the order of RFC 9110, section 13.2.2. `value`: undefined if there is no object. */
function requireConditions(
  value: Uint8Array | undefined,
  conditions: RenameConditions | undefined,
  prefix: string,
): void {
  if (conditions === undefined) return
  const { ifMatch, ifNoneMatch, ifModifiedSinceMs, ifUnmodifiedSinceMs } = conditions
  if (ifMatch !== undefined) {
    if (!matches(value, ifMatch)) throw failed(`${prefix}If-Match`)
  } else if (ifUnmodifiedSinceMs !== undefined && isYounger(value, ifUnmodifiedSinceMs)) {
    throw failed(`${prefix}If-Unmodified-Since`)
  }
  if (ifNoneMatch !== undefined) {
    if (matches(value, ifNoneMatch)) throw failed(`${prefix}If-None-Match`)
  } else if (ifModifiedSinceMs !== undefined && !isYounger(value, ifModifiedSinceMs)) {
    throw failed(`${prefix}If-Modified-Since`)
  }
}

function matches(value: Uint8Array | undefined, etag: string): boolean {
  return value !== undefined && (etag === '*' || etag === etagOf(value))
}

function isYounger(value: Uint8Array | undefined, sinceMs: number): boolean {
  return value !== undefined && Math.floor(modifiedOf(value) / 1000) > Math.floor(sinceMs / 1000)
}

function failed(condition: string): Error {
  return objectErrors.PreconditionFailed(undefined, { extra: { Condition: condition } })
}
