/**
 * Reads bodies that are stored beside records: from the drives with the data shards, or from any others with enough shards if some fail.
 * The reconstructed body is verified as a whole. Used for requests (`set-reading.ts`) and by `healing.ts`.
 */
import { crc32 } from '@node-rs/crc32'
import type { MaybePromise } from 'svc/kernel'
import type { BodyRef, StoredRecord } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { shardUnitOf } from './layout.ts'
import { headOf, identityOf, type RecordHead, wholeOf } from './set-record.ts'
import { isAboutShard, type SetView, slotOfShard } from './set-view.ts'

/** The set's `BodyRef`: enough to read the body for a while, even if the record is replaced in the meantime. */
export interface SetBodyRef extends BodyRef {
  readonly whole: Buffer | undefined
  readonly key: Buffer
  readonly head: RecordHead
  /** Records of the drives with data shards, as they were when the leader's record was read; by slot. */
  readonly found: readonly (MaybePromise<StoredRecord | undefined> | undefined)[]
}

const nobody: SetBodyRef['found'] = []

/** `record` is the leader's, which has `leaderSlot`. Undefined for a record without a body. */
export function bodyRefOf(
  view: SetView,
  leaderSlot: number,
  key: Uint8Array,
  record: StoredRecord,
): SetBodyRef | undefined {
  const head = headOf(record.value)
  if (head.body === 'none') return undefined
  const base = { segment: 0, offset: 0, size: head.bodyBytes, check: head.bodyCheck, key: Buffer.from(key), head }
  // A copy: the record is valid for this turn only.
  if (head.body === 'whole') return { ...base, whole: Buffer.from(wholeOf(record.value)!), found: nobody }
  const found: (MaybePromise<StoredRecord | undefined> | undefined)[] = new Array(view.slotCount).fill(undefined)
  for (let shard = 0; shard < head.dataCount; shard++) {
    const slot = slotOfShard(view, shard, head.rotation)
    if (!isComplete(view, head, slot)) continue
    found[slot] =
      slot === leaderSlot ? { value: record.value, body: record.body } : look(view, slot, base.key, head.identity)
  }
  return { ...base, whole: undefined, found }
}

function isComplete(view: SetView, head: RecordHead, slot: number): boolean {
  return head.generations[slot] !== 0 && head.generations[slot] === view.generationAt(slot)
}

/** The drive's own record, if it is of the same data; only its body is used. */
function look(view: SetView, slot: number, key: Buffer, identity: number): MaybePromise<StoredRecord | undefined> {
  const drive = view.driveAt(slot)
  if (drive === undefined) return undefined
  const same = (record: StoredRecord | undefined) =>
    record !== undefined && identityOf(record.value) === identity ? record : undefined
  try {
    const record = drive.get(key)
    return record instanceof Promise ? record.then(same).catch(() => undefined) : same(record)
  } catch (error) {
    view.onDriveError(slot, error)
    return undefined
  }
}

export function readBody(view: SetView, ref: SetBodyRef): MaybePromise<Buffer> {
  if (ref.whole !== undefined) return ref.whole
  const { head } = ref
  const shards: Buffer[] = []
  for (let shard = 0; shard < head.dataCount; shard++) {
    const slot = slotOfShard(view, shard, head.rotation)
    const bytes = tryToRead(view, slot, ref.found[slot])
    // A drive that must be awaited or has failed: the slower path waits, and tries other drives.
    if (bytes === undefined || bytes instanceof Promise) return readFromAny(view, ref)
    shards.push(bytes)
  }
  const body = join(shards, head)
  return crc32(body) === head.bodyCheck ? body : readFromAny(view, ref)
}

function tryToRead(
  view: SetView,
  slot: number,
  record: MaybePromise<StoredRecord | undefined> | undefined,
): MaybePromise<Buffer> | undefined {
  if (record === undefined || record instanceof Promise || record.body === undefined) return undefined
  const drive = view.driveAt(slot)
  if (drive === undefined) return undefined
  try {
    const bytes = drive.readBody(record.body)
    if (!(bytes instanceof Promise)) return bytes
    // The slower path asks again, and gets it from the cache, or fails in the same way.
    bytes.catch(() => undefined)
    return bytes
  } catch {
    return undefined
  }
}

function join(shards: readonly Buffer[], { bodyBytes }: RecordHead): Buffer {
  const body = shards.length === 1 ? shards[0]! : Buffer.concat(shards)
  return body.length === bodyBytes ? body : body.subarray(0, bodyBytes)
}

async function readFromAny(view: SetView, ref: SetBodyRef): Promise<Buffer> {
  const { head } = ref
  const { shards, present } = await readShards(view, ref.key, head, ref.found)
  const missing = dataMask(head) & ~present
  for (let shard = 0; shard < head.dataCount; shard++) {
    if ((missing & (1 << shard)) !== 0) shards[shard] = Buffer.allocUnsafe(shardUnitOf(head.bodyBytes, head.dataCount))
  }
  view.codeOf(head.parityCount).reconstruct(shards, present, missing)
  const body = join(shards.slice(0, head.dataCount) as Buffer[], head)
  if (crc32(body) !== head.bodyCheck) {
    throw storageErrors.corrupt('A body does not match its checksum although each of its shards does.')
  }
  return body
}

function dataMask({ dataCount }: RecordHead): number {
  return (1 << dataCount) - 1
}

export interface ShardsRead {
  /** By shard; at least as many as are needed. */
  readonly shards: (Buffer | undefined)[]
  /** Mask of the shards that were read. */
  readonly present: number
}

/**
 * As many shards of a body as are needed, of any drives. Rejects with `gone` if the record was replaced in the meantime, and if there are
 * too few, with `corrupt` if that is because of damage, else with `unavailable`.
 */
export async function readShards(
  view: SetView,
  key: Buffer,
  head: RecordHead,
  found: SetBodyRef['found'] = nobody,
): Promise<ShardsRead> {
  const shards: (Buffer | undefined)[] = new Array(view.slotCount).fill(undefined)
  let present = 0
  let count = 0
  /** Mask of the shards that were found missing or damaged. */
  let damaged = 0
  const read = async (shard: number, isExpected: boolean): Promise<void> => {
    const slot = slotOfShard(view, shard, head.rotation)
    const drive = view.driveAt(slot)
    if (drive === undefined || isComplete(view, head, slot) !== isExpected) return
    try {
      const record = (await found[slot]) ?? (await look(view, slot, key, head.identity))
      if (record === undefined || (!isExpected && record.body === undefined)) return
      if (record.body === undefined) throw storageErrors.corrupt('The shard is not there.')
      shards[shard] = Buffer.from(await drive.readBody(record.body))
      present |= 1 << shard
      count++
    } catch (error) {
      if (isAboutShard(error)) {
        damaged |= 1 << shard
        if (isExpected) view.onMissingShard({ slot, key, identity: head.identity })
      } else view.onDriveError(slot, error)
    }
  }
  for (let shard = 0; shard < view.slotCount && count < head.dataCount; shard++) await read(shard, true)
  // This thread may not be attached yet to a drive that has just come back.
  if (count < head.dataCount) await view.ready()
  for (let shard = 0; shard < view.slotCount && count < head.dataCount; shard++) {
    if (shards[shard] === undefined) await read(shard, true)
  }
  // At last the shards that are missing according to the record: the shard may be newer than the mark.
  for (let shard = 0; shard < view.slotCount && count < head.dataCount; shard++) await read(shard, false)
  if (count >= head.dataCount) return { shards, present }
  const now = await (await view.leader()).drive.get(key)
  if (now === undefined || identityOf(now.value) !== head.identity) throw storageErrors.gone()
  const detail = `${count} of the ${head.dataCount} shards that are needed can be read.`
  throw isBeyondHelp(view, head, damaged) ? storageErrors.corrupt(detail) : storageErrors.unavailable(detail)
}

/**
 * Whether too few shards are left even once every drive answers and has the record: the leader has it first. `damaged`: mask of the shards that
 * were found so.
 */
function isBeyondHelp(view: SetView, head: RecordHead, damaged: number): boolean {
  let left = 0
  for (let shard = 0; shard < view.slotCount; shard++) {
    const isLeft = (damaged & (1 << shard)) === 0 && isComplete(view, head, slotOfShard(view, shard, head.rotation))
    if (isLeft) left++
  }
  return damaged !== 0 && left < head.dataCount
}
