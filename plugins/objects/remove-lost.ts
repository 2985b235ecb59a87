/** Takes away, under the commit lock, a version whose bytes are lost, as long as nobody has changed it since that was found out. */
import type { Transaction } from 'svc/plugins/storage/api'
import { requireBucket } from './bucket-document.ts'
import type { ObjectEvents, PackedOrigin } from './events.ts'
import { objectKey } from './keys.ts'
import { isDeleteMarker } from './record.ts'
import { placeOfRecord } from './record-places.ts'
import { isKept, removeVersion, shownVersionId } from './versions.ts'

export interface RemoveLostArgs {
  readonly bucket: string
  readonly record: Uint8Array
  readonly value: Uint8Array
  readonly origin?: PackedOrigin
}

export type RemoveLostOutcome = 'deleted' | 'kept' | 'changed'

export function removeLost(tx: Transaction, args: RemoveLostArgs, events: ObjectEvents): RemoveLostOutcome {
  const key = Buffer.from(args.record)
  const place = placeOfRecord(key)
  const record = tx.get(key)
  if (record === undefined || place.kind !== 'object' || place.bucket !== args.bucket) return 'changed'
  // Sequence and bytes of a version are in its value: what was written anew differs.
  if (!Buffer.from(record.value).equals(args.value) || isDeleteMarker(record.value)) return 'changed'
  if (isKept(record.value, tx.nowMs)) return 'kept'
  const bucket = requireBucket(tx, args.bucket)
  const versionId = shownVersionId(bucket, record.value)
  removeVersion(tx, bucket, objectKey(place.bucket, place.key), { key, record }, false)
  events.tell(tx, { name: 'ObjectRemoved:Delete', bucket: place.bucket, key: place.key, versionId }, args.origin)
  return 'deleted'
}
