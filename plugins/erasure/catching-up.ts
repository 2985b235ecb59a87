/**
 * Brings a drive that lacks changes up to the leader. If the drive's last change is one of the leader's, and the leader's ring of recent
 * changes has all later changes, only the keys of these changes are copied. Otherwise all records are compared, and records that the leader does
 * not have are deleted. Meanwhile the drive also gets each new change, and the leader reads each
 * record between two changes, so no old record overwrites a newer one. A drive that refuses one of the new changes, because it is full for example,
 * takes nothing after it: it would say that it has every change.
 *
 * The drive gets the leader's ring as well. When it leads later, other drives catch up from its ring, and find in it to which record a
 * shard belongs that was staged on them. Entries of its own that the leader does not have are of changes that were never confirmed:
 * they would hide from those drives what was changed instead.
 *
 * Copies records only. Records say which shards the drive lacks; healing rebuilds those. Called by `RepairLoop.bringBack`.
 */
import { setImmediate } from 'node:timers/promises'
import type { Logger } from 'svc/kernel'
import type { Cursor } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import type { ErasureSet } from './erasure-set.ts'
import type { Member } from './member.ts'
import {
  decodeEpoch,
  decodeProgress,
  decodeRingEntry,
  noProgress,
  type Progress,
  type RingEntry,
} from './set-document.ts'
import {
  progressKey,
  ringKey,
  ringSize,
  setKey,
  stagedEnd,
  stagedKey,
  stagedStart,
  tableByte,
  unfinishedKey,
} from './set-keys.ts'
import { type AdoptArgs, procedure, type ShardNote, type ShowResult } from './set-procedures.ts'

const keysPerStep = 256
const pageRecords = 1000
/** Entries of the ring are larger than records: one names up to a thousand keys. */
const ringEntriesPerStep = 16

export interface CatchUpOptions {
  readonly set: ErasureSet
  readonly member: Member
  readonly log: Logger
  readonly signal: AbortSignal
  /** Called with the number of records that were compared. */
  onProgress?(records: number): void
}

/** The drive's position in the order of changes. */
export async function progressOf({ drive }: Member): Promise<Progress> {
  const record = await drive.get(progressKey)
  return record === undefined ? noProgress : decodeProgress(record.value)
}

/** Resolves when the member is current. Rejects when it fails, or the leader changes in the meantime; the caller tries again. */
export async function catchUp(options: CatchUpOptions): Promise<void> {
  const { set, member, log } = options
  const { leadership } = set
  const run: CatchUpRun = { ...options, leadership, staged: new Map(), notes: new Map() }
  await settle(run)
  const leftStaged = await stagedIds(member)
  if (leftStaged.length > 0) run.staged = await identitiesOf(set, new Set(leftStaged))
  const missed = await missedChanges(set, member)
  let last: readonly Buffer[] = [setKey]
  let count = 0
  if (missed !== undefined) {
    const keys = new Map<string, Buffer>()
    for (const entry of missed) for (const key of entry.keys) keys.set(key.latin1Slice(), key)
    count = keys.size
    const ringKeys = missed.map(({ index }) => ringKey(index))
    await adoptAll(run, await differing(run, ringKeys), ringEntriesPerStep)
    // The last step carries the progress, so the drive gets both or neither.
    const all = [...keys.values()]
    const rest = count % keysPerStep || Math.min(count, keysPerStep)
    await adoptAll(run, all.slice(0, count - rest))
    last = [...all.slice(count - rest), setKey]
  } else {
    count = await compareAll(run)
    await compareRings(run)
  }
  // Shards of these may have turned up beside other records in the meantime.
  await adoptAll(
    run,
    [...run.notes.values()].map(({ key }) => key),
  )
  await adopt(run, last, true)
  // It has noted which shards it lacks.
  member.mayHaveNotes = true
  const left = await stagedIds(member)
  const isLeft = new Set(leftStaged)
  // Leaves shards of commits that are under way. Without an epoch another leader may come, with changes that need the staged shards.
  const ours = set.epoch === 0 ? [] : left.filter(id => id.startsWith('=') || isLeft.has(id))
  if (ours.length > 0) await member.drive.execute(procedure.unstage, ours)
  log.info(
    { path: member.path, slot: member.slot, records: count, isWhole: missed === undefined },
    'a drive has caught up',
  )
}

/**
 * Resolves when both drives have made what they were sent before, which nobody sees until then. What the leader still makes as its own is sent to the
 * other drive as well, but not what it got from a former leader before that drive came back.
 */
async function settle({ set, member }: CatchUpRun): Promise<void> {
  member.lastSent = undefined
  const settled = member.drive.execute(procedure.show, []).catch(error => {
    set.onDriveError(member.slot, error)
    throw error
  })
  await Promise.all([settled, set.show([], () => undefined)])
}

interface CatchUpRun extends CatchUpOptions {
  readonly leadership: number
  /** Ids under which shards of bodies may be staged on the drive, by the identity of the data. */
  staged: ReadonlyMap<number, string>
  /** Shards that the drive lacks so far, by key as latin1. */
  readonly notes: Map<string, ShardNote>
}

/** Identities of the data that was staged under these ids, as far as the leader's ring tells. */
async function identitiesOf(set: ErasureSet, ids: ReadonlySet<string>): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>()
  const { drive } = set.leader()
  const { index: last } = await progressOf(set.leader() as Member)
  for (let index = last; index > Math.max(0, last - ringSize) && found.size < ids.size; index--) {
    const record = await drive.get(ringKey(index))
    if (record === undefined) continue
    const { staged, sequence } = decodeRingEntry(record.value)
    if (ids.has(staged)) found.set(sequence, staged)
  }
  return found
}

export async function unfinishedEpoch({ drive }: Pick<Member, 'drive'>): Promise<number | undefined> {
  const record = await drive.get(unfinishedKey)
  return record === undefined ? undefined : decodeEpoch(record.value)
}

async function stagedIds({ drive }: Member): Promise<string[]> {
  const prefix = stagedKey('').length
  return drive.scan(stagedStart, stagedEnd, cursor => {
    const ids: string[] = []
    while (cursor.next()) ids.push(cursor.key.latin1Slice(prefix))
    return ids
  })
}

/** The changes that a drive lacks; undefined if the ring does not cover them, or the drive has a change that the leader never had. */
async function missedChanges(set: ErasureSet, member: Member): Promise<readonly RingEntry[] | undefined> {
  const { drive } = set.leader()
  // Records beyond a drive's progress are in no ring, unless this same leader sent them.
  if ((await unfinishedEpoch({ drive })) !== undefined) return undefined
  const unfinished = await unfinishedEpoch(member)
  if (unfinished !== undefined && (unfinished === 0 || unfinished !== set.epoch)) return undefined
  const own = await progressOf(member)
  const last = await progressOf(set.leader() as Member)
  if (own.index === 0 || own.index > last.index || last.index - own.index >= ringSize - 1) return undefined
  const entryAt = async (index: number): Promise<RingEntry | undefined> => {
    const record = await drive.get(ringKey(index))
    if (record === undefined) return undefined
    const entry = decodeRingEntry(record.value)
    return entry.index === index ? entry : undefined
  }
  const common = await entryAt(own.index)
  if (common === undefined || common.epoch !== own.epoch || common.sequence !== own.sequence) return undefined
  const missed: RingEntry[] = []
  for (let index = own.index + 1; index <= last.index; index++) {
    const entry = await entryAt(index)
    if (entry === undefined) return undefined
    missed.push(entry)
  }
  return missed
}

/** Those of the keys whose records the drive does not have as the leader has them: a full drive takes entries of the ring once, not with each attempt. */
async function differing({ set, member }: CatchUpRun, keys: readonly Buffer[]): Promise<readonly Buffer[]> {
  const { drive } = set.leader()
  const found: Buffer[] = []
  for (const key of keys) {
    const [theirs, own] = [await drive.get(key), await member.drive.get(key)]
    if (theirs === undefined || own === undefined || !Buffer.from(theirs.value).equals(own.value)) found.push(key)
  }
  return found
}

async function adoptAll(run: CatchUpRun, keys: readonly Buffer[], perStep = keysPerStep): Promise<void> {
  for (let at = 0; at < keys.length; at += perStep) {
    if (run.signal.aborted) throw storageErrors.unavailable('Catching up was ended.')
    await adopt(run, keys.slice(at, at + perStep), false)
  }
}

/** Copies records between two changes. After the last step the drive is current before any later change is passed on. */
function adopt(run: CatchUpRun, keys: readonly Buffer[], isLast: boolean): Promise<void> {
  const { set, member, staged, notes, leadership } = run
  return new Promise((resolve, reject) => {
    const give = ({ shown, progress }: ShowResult) => {
      if (member.state !== 'behind' || set.leadership !== leadership) {
        reject(storageErrors.unavailable('A drive has failed, or the leader has changed, while a drive caught up.'))
        return
      }
      const args: AdoptArgs = {
        slot: member.slot,
        generation: member.generation,
        shown,
        lastSent: member.lastSent,
        staged,
        progress: isLast ? progress : undefined,
        unfinished: isLast ? undefined : set.epoch,
      }
      const adopted = member.drive.execute<ShardNote[]>(procedure.adopt, args)
      if (isLast) set.onCaughtUp(member)
      adopted.then(
        found => {
          for (const key of keys) notes.delete(key.latin1Slice())
          for (const each of found) notes.set(each.key.latin1Slice(), each)
          if (isLast && member.state === 'current') member.hasCaughtUp = true
          resolve()
        },
        error => {
          // Whatever the reason: later changes assume that it has these.
          if (isLast) set.onLost(member, error)
          else set.onDriveError(member.slot, error)
          reject(error)
        },
      )
    }
    set.show(keys, give).catch(reject)
  })
}

interface Entry {
  readonly key: Buffer
  readonly record: Buffer
}

/** Compares page by page, in key order: a page of the leader with the same range of the drive. */
async function compareAll(run: CatchUpRun): Promise<number> {
  const { set, member, signal, onProgress } = run
  const end = Buffer.from([0xff, 0xff])
  let from: Buffer = Buffer.from([0])
  let count = 0
  for (;;) {
    if (signal.aborted) throw storageErrors.unavailable('Catching up was ended.')
    if (from[0] === tableByte) from = Buffer.from([tableByte + 1])
    const limit = from[0]! < tableByte ? Buffer.from([tableByte]) : end
    const page = await set.leader().drive.scan(from, limit, takePage)
    // At the end of the leader's table: everything else that the drive has there is deleted.
    const isLast = page.length < pageRecords
    const to = isLast ? limit : after(page.at(-1)!.key)
    const own = new Map<string, Buffer>()
    for (let position = from; ; ) {
      const some = await member.drive.scan(position, to, takePage)
      for (const { key, record } of some) own.set(key.latin1Slice(), record)
      if (some.length < pageRecords) break
      position = after(some.at(-1)!.key)
    }
    const different: Buffer[] = []
    for (const { key, record } of page) {
      const text = key.latin1Slice()
      if (own.get(text)?.equals(record) !== true) different.push(key)
      own.delete(text)
    }
    for (const text of own.keys()) different.push(Buffer.from(text, 'latin1'))
    await adoptAll(run, different)
    count += page.length
    onProgress?.(count)
    if (isLast && limit === end) return count
    from = to
    await setImmediate()
  }
}

/** Afterwards the drive's ring is the leader's, but for what is changed meanwhile: `apply` adds that on both. */
async function compareRings(run: CatchUpRun): Promise<void> {
  const { set, member, signal } = run
  for (let number = 0; number < ringSize; number += ringEntriesPerStep) {
    if (signal.aborted) throw storageErrors.unavailable('Catching up was ended.')
    const keys = Array.from({ length: ringEntriesPerStep }, (_, at) => ringKey(number + at))
    const range = [keys[0]!, after(keys.at(-1)!)] as const
    const [theirs, own] = await Promise.all(
      [set.leader().drive, member.drive].map(async drive => {
        const entries = await drive.scan(...range, takePage)
        return new Map(entries.map(({ key, record }) => [key.latin1Slice(), record]))
      }),
    )
    const isSame = (key: string) => {
      const [a, b] = [theirs!.get(key), own!.get(key)]
      return a === undefined ? b === undefined : b?.equals(a) === true
    }
    const different = keys.filter(key => !isSame(key.latin1Slice()))
    await adoptAll(run, different, ringEntriesPerStep)
  }
}

function takePage(cursor: Cursor): Entry[] {
  const entries: Entry[] = []
  while (entries.length < pageRecords && cursor.next()) {
    entries.push({ key: Buffer.from(cursor.key), record: Buffer.from(cursor.value) })
  }
  return entries
}

function after(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.from([0])])
}
