/**
 * Removal, under the commit lock, of versions whose bytes are lost, if they are unchanged since the loss was found. Healing calls
 * this.
 */
import type { StoredRecord, Transaction } from 'svc/plugins/storage/api'
import { requireBucket } from './bucket-document.ts'
import type { ObjectEvents, PackedOrigin } from './events.ts'
import { objectKey } from './keys.ts'
import { isDeleteMarker, isReduced } from './record.ts'
import { placeOfRecord, type RecordPlace } from './record-places.ts'
import { isKept, removeVersion, shownVersionId } from './versions.ts'

export interface LostArgs {
  readonly bucket: string
  readonly record: Uint8Array
  readonly value: Uint8Array
  readonly origin?: PackedOrigin
}

export type RemoveLostOutcome = 'deleted' | 'kept' | 'changed'

interface Lost {
  readonly key: Buffer
  readonly place: RecordPlace
  readonly record: StoredRecord
}

/** Undefined if the record has changed since. */
function findLost(tx: Transaction, args: LostArgs): Lost | undefined {
  const key = Buffer.from(args.record)
  const place = placeOfRecord(key)
  const record = tx.get(key)
  if (record === undefined || place.kind !== 'object' || place.bucket !== args.bucket) return undefined
  // The value contains sequence and bytes of the version, so a rewritten version differs.
  if (!Buffer.from(record.value).equals(args.value) || isDeleteMarker(record.value)) return undefined
  return { key, place, record }
}

export function removeLost(tx: Transaction, args: LostArgs, events: ObjectEvents): RemoveLostOutcome {
  const lost = findLost(tx, args)
  if (lost === undefined) return 'changed'
  const { key, place, record } = lost
  if (isKept(record.value, tx.nowMs)) return 'kept'
  const bucket = requireBucket(tx, args.bucket)
  const versionId = shownVersionId(bucket, record.value)
  removeVersion(tx, bucket, objectKey(place.bucket, place.key), { key, record }, false)
  events.tell(tx, { name: 'ObjectRemoved:Delete', bucket: place.bucket, key: place.key, versionId }, args.origin)
  return 'deleted'
}

/** Only for versions with reduced redundancy; the loss of others has no S3 event. */
export function tellLost(tx: Transaction, args: LostArgs, events: ObjectEvents): void {
  const lost = findLost(tx, args)
  if (lost === undefined || !isReduced(lost.record.value)) return
  const { place, record } = lost
  const versionId = shownVersionId(requireBucket(tx, args.bucket), record.value)
  events.tell(tx, { name: 'ReducedRedundancyLostObject', bucket: place.bucket, key: place.key, versionId }, args.origin)
}
