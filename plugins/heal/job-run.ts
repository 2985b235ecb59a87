/**
 * Runs one heal job: heals the requested records one by one, in the order of their keys. Records that cannot be healed are counted and
 * listed; the job goes on with the next, unless the set cannot be written any more. Called by `jobs.ts`.
 *
 * A *dangling* object has lost more shards than there is parity. The job reports the object only after every drive was online and
 * was read. The job deletes the object only if the request says `remove`, the record has not changed since, and no lock protects it.
 */
import { setImmediate } from 'node:timers/promises'
import { isCatalogError, type MaybePromise } from 'svc/kernel'
import type { HealOutcome, RedundantStorage, ShardState } from 'svc/plugins/erasure/api'
import {
  type ChangeOrigin,
  type ObjectsService,
  placeOfRecord,
  type RecordPlace,
  recordedVersionId,
  recordRanges,
} from 'svc/plugins/objects/api'
import type { DriveStatus, StorageService } from 'svc/plugins/storage/api'
import type { HealItem, HealRequest, StoredHealJob } from './admin/heal-schema.ts'
import { addFound } from './found-records.ts'
import { addLeft } from './left-records.ts'

/** Most items that a job lists; further ones are only counted. */
export const itemsMax = 200

export interface JobRunOptions {
  readonly redundant: RedundantStorage
  readonly objects: Pick<ObjectsService, 'removeLostVersion' | 'tellLostVersion'>
  readonly storage: Pick<StorageService, 'get'>
  readonly origin: ChangeOrigin
  readonly signal: AbortSignal
  /** Called before each record is healed, and before its object is removed. Throws when the job must not go on. */
  beforeChange(): MaybePromise<void>
  now(): number
}

type Drives = readonly DriveStatus[]

export function newJob(id: string, request: HealRequest, node: string, nowMs: number): StoredHealJob {
  const time = new Date(nowMs).toISOString()
  return {
    id,
    state: 'running',
    request,
    finished: false,
    node,
    startedAt: time,
    updatedAt: time,
    current: '',
    scanned: 0,
    damaged: 0,
    healed: 0,
    failed: 0,
    dangling: 0,
    removed: 0,
    bytes: 0,
    drives: [],
    items: [],
    itemsTruncated: false,
    error: '',
    left: { keys: [], digests: [], more: 0 },
    found: { keys: [], checked: 0 },
  }
}

/** Updates the job while it runs. Resolves at the end, or when the signal aborts; rejects when it cannot go on. */
export async function runJob(job: StoredHealJob, options: JobRunOptions): Promise<void> {
  const { redundant, signal } = options
  const { bucket, prefix = '', recursive = false } = job.request
  const drives = [...(await redundant.drives())].sort(byPlace)
  job.drives = drives.map(drive => ({
    ...describe(drive),
    state: drive.state === 'full' ? 'online' : drive.state,
    missing: 0,
    corrupt: 0,
    offline: 0,
    healed: 0,
  }))
  if (bucket === undefined) {
    await addFormatItem(job, drives)
    await walk([Buffer.from([0]), Buffer.from([0xff, 0xff])])
    return
  }
  for (const range of recordRanges(bucket, prefix)) await walk(range)

  async function walk([start, end]: readonly [Buffer, Buffer]): Promise<void> {
    for (let from: Buffer | undefined = start; from !== undefined && !signal.aborted; ) {
      const page: Awaited<ReturnType<RedundantStorage['page']>> = await redundant.page(from, end)
      from = page.next
      for (const key of page.keys) {
        if (signal.aborted) return
        const place = placeOfRecord(key)
        const isBelow = place.kind === 'object' || place.kind === 'upload'
        if (bucket === undefined && isBelow && !recursive) {
          // Objects were not requested: skips the rest of this table.
          from = Buffer.from([key[0]! + 1])
          break
        }
        if (isBelow && !recursive && place.key.includes('/', prefix.length)) continue
        await stillHolds(options)
        await healOne(job, key, place, drives, options)
        await setImmediate()
      }
    }
  }
}

/** Ends the job where its lock is gone. That it cannot be read now is no reason: whoever loses it is told, and the renewal asks again. */
async function stillHolds({ beforeChange, signal }: JobRunOptions): Promise<void> {
  try {
    await beforeChange()
  } catch (error) {
    if (signal.aborted || (isCatalogError(error) && error.code === 'conflict')) throw error
  }
}

async function healOne(job: StoredHealJob, key: Buffer, place: RecordPlace, drives: Drives, options: JobRunOptions) {
  const { redundant, storage, now } = options
  const { deep = false, dryRun = false } = job.request
  job.current = place.bucket === '' ? '' : `${place.bucket}/${place.key}`
  job.updatedAt = new Date(now()).toISOString()
  let item: HealItem | undefined
  let value: Buffer | undefined
  // Undefined until it is known whether a record, or the count of a dry run, says that it is damaged.
  let isLeft: boolean | undefined
  const before = job.damaged
  try {
    value = await copyOfValue(storage, key)
    const health = await redundant.heal(key, { deep, dryRun })
    job.scanned++
    if (health === undefined || value === undefined) return
    item = judge(job, place, health, drives, dryRun)
    // A blob that its set does not have any more has no shards to rebuild, and cannot be read.
    if (health.isReadable && !(health.error !== undefined && health.after.some(needsRebuild))) return
    if (!(await redundant.isLost(key))) return
    // A shard that is missing is marked in the record by now, so that it is counted until it is healed or gone; a blob is not.
    isLeft = !dryRun && (item === undefined || !health.after.some(needsRebuild))
    item ??= lostItem(job, place, dryRun)
    job.dangling++
    item.dangling = true
    item.error = 'More shards are lost than there is parity, or all of them: the data cannot be read any more.'
    if (dryRun) return
    if (place.kind === 'object') await notifyLost(key, value, place, options)
    if (job.request.remove === true) await remove(job, item, key, value, place, options)
  } catch (error) {
    if (!redundant.canWrite) throw error
    job.failed++
    isLeft ??= true
    item ??= emptyItem(place)
    item.error = isCatalogError(error) ? error.message : 'It could not be checked; see the log of the server.'
  } finally {
    if (isLeft === true && item?.removed !== true) addLeft(job, key, value)
    if (dryRun && job.damaged > before) addFound(job, key)
    const isVersion = place.kind === 'object' && value !== undefined
    if (item !== undefined) addItem(job, { ...item, ...(isVersion && { versionId: recordedVersionId(value!) }) })
  }
}

/** Counts the shards of a record. Returns an item if a shard is missing or corrupt on a drive that is online. */
function judge(job: StoredHealJob, place: RecordPlace, health: HealOutcome, drives: Drives, dryRun: boolean) {
  const { before, after, error, dataBytes } = health
  for (const [position, state] of before.entries()) {
    const drive = job.drives[position]!
    if (state !== undefined && state !== 'ok') drive[state]++
    if (needsRebuild(state) && after[position] === 'ok') drive.healed++
  }
  if (!before.some(needsRebuild)) return undefined
  job.damaged++
  const isHealed = !dryRun && !after.some(needsRebuild)
  if (isHealed) {
    job.healed++
    job.bytes += dataBytes
  } else if (!dryRun) job.failed++
  const item = emptyItem(place)
  item.healed = isHealed
  item.error = error ?? ''
  // Leaves out the drives of sets that have none of its shards.
  for (const [position, drive] of drives.entries()) {
    const state = before[position]
    if (state !== undefined) {
      item.drives.push({ ...describe(drive), before: state, after: after[position] ?? 'offline' })
    }
  }
  return item
}

/** Of a record without a damaged shard. */
function lostItem(job: StoredHealJob, place: RecordPlace, dryRun: boolean): HealItem {
  job.damaged++
  if (!dryRun) job.failed++
  return emptyItem(place)
}

async function notifyLost(key: Buffer, value: Buffer, { bucket }: RecordPlace, { objects, origin }: JobRunOptions) {
  await objects.tellLostVersion({ bucket, record: key, value }, origin)
}

async function remove(
  job: StoredHealJob,
  item: HealItem,
  key: Buffer,
  value: Buffer,
  { kind, bucket }: RecordPlace,
  { objects, origin, beforeChange }: JobRunOptions,
): Promise<void> {
  if (kind !== 'object') {
    item.error += ' It is a part of an upload: abort the upload to delete it.'
    return
  }
  await beforeChange()
  const outcome = await objects.removeLostVersion({ bucket, record: key, value }, origin)
  if (outcome === 'deleted') {
    job.removed++
    item.removed = true
  } else if (outcome === 'kept') item.error += ' It was not deleted, because an object lock protects it.'
  else item.error += ' It was not deleted, because it has changed in the meantime.'
}

async function addFormatItem(job: StoredHealJob, drives: Drives): Promise<void> {
  const states = drives.map(({ state, place }) =>
    state !== 'online' && state !== 'full' ? 'offline' : place?.isCurrent === false ? 'outdated' : 'ok',
  )
  if (states.every(state => state === 'ok')) return
  addItem(job, {
    ...emptyItem({ kind: 'system', bucket: '', key: '' }),
    kind: 'format',
    error: 'A drive is offline or lacks records. It rejoins the set by itself when it answers.',
    drives: drives.map((drive, slot) => ({ ...describe(drive), before: states[slot]!, after: states[slot]! })),
  })
}

function addItem(job: StoredHealJob, item: HealItem): void {
  if (job.items.length < itemsMax) job.items.push(item)
  else job.itemsTruncated = true
}

function emptyItem({ kind, bucket, key }: RecordPlace): HealItem {
  const shown = kind === 'upload' ? 'object' : kind
  const flags = { healed: false, dangling: false, removed: false }
  return { kind: shown, bucket, object: key, ...flags, error: '', drives: [] }
}

async function copyOfValue(storage: JobRunOptions['storage'], key: Buffer): Promise<Buffer | undefined> {
  const record = await storage.get(key)
  return record === undefined ? undefined : Buffer.from(record.value)
}

function needsRebuild(state: ShardState | undefined): boolean {
  return state === 'missing' || state === 'corrupt'
}

/** The order of positions in `HealOutcome`. */
function byPlace({ place: a }: DriveStatus, { place: b }: DriveStatus): number {
  return (a?.pool ?? 0) - (b?.pool ?? 0) || (a?.set ?? 0) - (b?.set ?? 0) || (a?.slot ?? 0) - (b?.slot ?? 0)
}

function describe({ path, place }: DriveStatus) {
  return { endpoint: path, pool: place?.pool ?? 0, set: place?.set ?? 0, disk: place?.slot ?? 0 }
}
