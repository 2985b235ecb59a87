/**
 * Whether the data of a record is lost for good. True only if every drive of the set is online and was read, and the body or one of the
 * blobs has fewer intact shards than are needed, whatever the record says of them. If a drive fails or the record changes in the
 * meantime, the answer is false. Called by `redundancy.ts` for heal jobs, which may delete lost objects.
 */
import { anyBlobCheck } from 'svc/plugins/drive/api'
import type { ErasureSet } from './erasure-set.ts'
import { type Healing, shardBytesOfBlob } from './healing.ts'
import type { Member } from './member.ts'
import { type BlobEntry, hasShards, headOf, type RecordHead } from './set-record.ts'
import { idInSlot, isAboutShard } from './set-view.ts'

export async function isLost(set: ErasureSet, healing: Healing, key: Buffer): Promise<boolean> {
  if (!set.isWhole) return false
  const head = await headNow(set, key)
  if (head === undefined || !hasShards(head)) return false
  const isOneLost = head.body === 'sharded' ? await isBodyLost(set, healing, key, head) : await isABlobLost(set, head)
  if (!isOneLost || !set.isWhole) return false
  return (await headNow(set, key))?.identity === head.identity
}

async function headNow(set: ErasureSet, key: Buffer): Promise<RecordHead | undefined> {
  const record = await set.leader().drive.get(key)
  return record === undefined ? undefined : headOf(record.value)
}

async function isBodyLost(set: ErasureSet, healing: Healing, key: Buffer, head: RecordHead): Promise<boolean> {
  let count = 0
  for (const member of set.members) if ((await healing.lookAtShards(member, key, head)) === 'ok') count++
  return count < head.dataCount
}

async function isABlobLost(set: ErasureSet, { blobs }: RecordHead): Promise<boolean> {
  for (const blob of blobs) {
    let count = 0
    for (const member of set.members) if (await hasShard(set, member, blob)) count++
    if (count < set.slotCount - (blob.parityCount ?? set.parityCount)) return true
  }
  return false
}

/** True also if it cannot be determined. */
async function hasShard(set: ErasureSet, { drive, slot }: Member, blob: BlobEntry): Promise<boolean> {
  const size = shardBytesOfBlob(set, blob)
  const reader = drive.readBlob({ id: idInSlot(blob.id, slot), size, check: anyBlobCheck }, 0, size)
  try {
    if (size === 0) return true
    for (let chunk = await reader.next(); chunk !== undefined; chunk = await reader.next()) chunk.release()
    return true
  } catch (error) {
    return !isAboutShard(error)
  } finally {
    reader.close()
  }
}
