/**
 * Background repair of a set: opens offline drives again and lets them catch up, formats an empty file system that is mounted in the place
 * of a drive, elects a leader where there is none and stores its epoch, marks shards that were found missing, heals records that lack
 * shards, and scrubs (reads every shard now and then). Clients wait for it only as long as one of its small commits takes.
 *
 * The background workers in `index.ts` call its steps; `backend.ts` calls `bringBack` once during a start; `redundancy.ts` reads its
 * counts and calls `scrubSome` for the scanner.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock, Logger } from 'svc/kernel'
import type { DriveLook } from 'svc/plugins/drive/api'
import type { RebuildProgress } from 'svc/plugins/storage/api'
import { type AnswerWatch, isDoneIn } from './answer-watch.ts'
import type { RecordHealth, ShardState } from './api.ts'
import { catchUp, progressOf, unfinishedEpoch } from './catching-up.ts'
import { retryMsMaxDefault } from './config.ts'
import type { ErasureSet } from './erasure-set.ts'
import { erasureErrors } from './errors.ts'
import { type Healing, type HealOptions, needsRebuild } from './healing.ts'
import type { Ledger } from './ledger.ts'
import type { Member } from './member.ts'
import { type IsMount, notMounted } from './mounts.ts'
import type { PendingOpening } from './opening.ts'
import {
  incompleteEnd,
  incompleteStart,
  keyOfIncomplete,
  keyOfNoted,
  notedEnd,
  notedStart,
  tableByte,
} from './set-keys.ts'
import { procedure } from './set-procedures.ts'
import { decodeIdentity, generationsOf } from './set-record.ts'

/** How long a round waits for drives that are being opened, in ticks of the watch: two seconds. Slower drives continue by themselves. */
const reopenTicks = 8
/** Records that are healed in one step. */
const recordsPerStep = 64
/** Records that are healed at the same time: their writes share the group commits of the drives. */
const healedAtOnce = 16
/** Records that are read in one turn of the event loop. */
const recordsPerPage = 10_000
/** Missing shards that are marked in one change: bounds how long other changes wait for it. */
const marksPerChange = 256
/** A step of scrubbing ends after this time; one large body may take longer. */
const scrubMsMax = 250
/**
 * Records with shards on offline drives are looked at again after this time. A failed record is forgotten when its next attempt is overdue by this
 * time.
 */
const retryMs = 60_000
/** A record that could not be healed is tried again after this time, then after twice as long each time: at most `retryMsMax`. */
const retryMsMin = 15_000
/** Records that lacked a shard again right after they were healed are tried again after this time. */
const recheckMs = 2000
/** Most records that are skipped at a time. Beyond that the oldest entry is tried again early. */
const skippedMax = 100_000

export interface RepairLoopOptions {
  readonly set: ErasureSet
  readonly healing: Healing
  readonly ledger: Ledger
  readonly clock: Clock
  readonly watch: AnswerWatch
  readonly log: Logger
  /** What a folder says about the drive in it. */
  look(path: string): Promise<DriveLook>
  /** Whether the folder exists. */
  isThere(path: string): Promise<boolean>
  readonly isMount: IsMount
  /** Longest time between two attempts to heal a record. */
  readonly retryMsMax?: number
}

export interface HealCounts {
  healed: number
  failed: number
  /** Records whose shards were all read. */
  scrubbed: number
  /** Records among them that had a missing or corrupt shard. */
  damaged: number
}

function abortOf(signal: AbortSignal): Promise<false> {
  return new Promise(resolve => {
    if (signal.aborted) resolve(false)
    else signal.addEventListener('abort', () => resolve(false), { once: true })
  })
}

function isBetter(before: readonly ShardState[], after: readonly ShardState[]): boolean {
  const count = (states: readonly ShardState[]) => states.filter(state => state === 'ok').length
  return count(after) > count(before)
}

function isFaulty({ drive }: Member): boolean {
  const statuses = drive.drives()
  return statuses instanceof Promise || statuses.some(({ state }) => state === 'faulty')
}

function requireOwn({ path, slot }: Member, driveId: string, { document }: ErasureSet): void {
  if (driveId === document.slots[slot]!.driveId) return
  throw erasureErrors.drive_missing(
    `The drive at ${path} is another one. Mount the right drive, or restart the server to take this one into the set.`,
  )
}

/** A record whose last attempt failed. */
interface Failing {
  readonly waitMs: number
  /** When it is tried again. */
  readonly againMs: number
}

export class RepairLoop {
  readonly #options: RepairLoopOptions
  /** Records that are skipped for now, by key as latin1, with the time until then. */
  readonly #skipped = new Map<string, number>()
  /** Records whose last attempt failed, by key as latin1, with its time. Entries of deleted records expire. */
  readonly #failing = new Map<string, Failing>()
  #bringing: Promise<boolean> | undefined
  #beingMarked = 0
  /** Where the search for records of replaced drives continues; undefined: it has not begun. */
  #walkFrom: Buffer | undefined
  /** Where scrubbing continues: at the first record with this key or a later one. */
  scrubFrom = Buffer.from([0])
  /** Since the start. */
  readonly counts: HealCounts = { healed: 0, failed: 0, scrubbed: 0, damaged: 0 }

  constructor(options: RepairLoopOptions) {
    this.#options = options
  }

  /**
   * Opens offline drives and lets drives that are behind catch up. Resolves with whether anything was done. Concurrent callers share one round. The
   * signal of the first caller ends the round early; the others stop waiting when their own signal aborts.
   */
  bringBack(signal: AbortSignal): Promise<boolean> {
    if (this.#bringing !== undefined) return Promise.race([this.#bringing, abortOf(signal)])
    this.#bringing = this.#bringAllBack(signal).finally(() => {
      this.#bringing = undefined
    })
    return this.#bringing
  }

  async #bringAllBack(signal: AbortSignal): Promise<boolean> {
    const { set, log } = this.#options
    let isAnything = signal.aborted ? false : await this.#reopenAll()
    if (set.currentCount === 0) await this.#reelect()
    if (set.currentCount === 0) return isAnything
    for (const member of set.members) {
      await this.#claimEpoch()
      if (signal.aborted) return isAnything
      if (member.state !== 'behind') continue
      try {
        await catchUp({ set, member, log, signal })
        this.#skipped.clear()
        isAnything = true
      } catch (error) {
        if (signal.aborted) return isAnything
        log.warn(
          { err: error, path: member.path },
          'a drive could not catch up: it serves no reads yet, and is tried again',
        )
      }
    }
    await this.#claimEpoch()
    return isAnything
  }

  /** Runs as soon as a write quorum is current: slow drives that still catch up are not waited for. */
  async #claimEpoch(): Promise<void> {
    const { set, log } = this.#options
    if ((set.epoch !== 0 && set.isDescribed) || set.currentCount < set.writeQuorum) return
    try {
      if (set.epoch === 0) await set.claimEpoch()
      else await set.describe()
    } catch (error) {
      log.warn(
        { err: error },
        'the epoch of the leader, or the set document, could not be written to a write quorum; it is tried again',
      )
    }
  }

  /** Opens all offline drives at once. A drive that hangs delays neither the others nor the next steps: it continues by itself. */
  async #reopenAll(): Promise<boolean> {
    const { set, watch } = this.#options
    const away = set.members.filter(({ state }) => state === 'offline')
    for (const member of away) this.#follow(member, () => this.#reopen(member))
    await isDoneIn(Promise.all(away.map(({ returning }) => returning)), watch, reopenTicks)
    return away.some(({ state }) => state !== 'offline')
  }

  #follow(member: Member, open: () => Promise<void>): void {
    member.returning ??= open()
      .catch(error => {
        member.error = error
      })
      .finally(() => {
        member.returning = undefined
      })
  }

  /** Takes over drives that were still being opened when the start went on without them. */
  expect(pending: readonly PendingOpening[]): void {
    const { set, log } = this.#options
    for (const { member, opening } of pending) {
      this.#follow(member, async () => {
        await opening
        member.isOpen = true
        if (!set.isStopping) requireOwn(member, member.drive.driveId, set)
        await this.#take(member)
        log.info({ path: member.path, slot: member.slot }, 'a slow drive is open now: it catches up')
      })
    }
  }

  /** Makes an opened drive a member again, or closes it if the set is stopping. */
  async #take(member: Member): Promise<void> {
    if (!this.#options.set.isStopping) this.#options.set.onReturned(member, true)
    else await member.drive.stop()
  }

  async #reopen(member: Member): Promise<void> {
    const { set, log, look } = this.#options
    // It has requests that it has not answered: it still hangs.
    if (member.isOpen && member.drive.answers.unansweredCount > 0) return
    if (member.isOpen && member.isTimedOut && !isFaulty(member)) {
      // It stayed open and applied all requests in order, so it need not be opened again. If it cannot write, the next round reopens it.
      member.isTimedOut = false
      await member.drive.probe()
      if (set.isStopping) return
      set.onReturned(member, false)
    } else {
      if (member.isOpen) await this.#close(member)
      const { driveId, problem, state } = await look(member.path)
      if (driveId !== undefined && driveId === member.newDriveId) return this.#takeIn(member)
      if (state === 'empty' && (await this.#options.isThere(member.path))) {
        // An empty file system is a replacement. An empty folder may be a missing mount: only a start takes it as a new drive.
        const { isMount } = this.#options
        if (await isMount(member.path)) return this.#takeIn(member)
        const others = set.members.filter(({ takesWrites }) => takesWrites)
        const areMounts = (await Promise.all(others.map(({ path }) => isMount(path)))).includes(true)
        throw erasureErrors.drive_missing(
          areMounts
            ? notMounted(member.path)
            : `${member.path} is empty. If its file system is not mounted, mount it. If this folder is to be a new drive, restart the server.`,
        )
      }
      if (driveId === undefined) throw erasureErrors.drive_missing(problem ?? `There is no drive at ${member.path}.`)
      requireOwn(member, driveId, set)
      await member.drive.start()
      await this.#take(member)
    }
    log.info({ path: member.path, slot: member.slot }, 'a drive is back: it catches up')
  }

  /** Errors of the close are only logged: the next opening replays the journal. */
  async #close(member: Member): Promise<void> {
    try {
      await member.drive.stop()
    } catch (error) {
      this.#options.log.warn(
        { err: error, path: member.path },
        'a failed drive could not be closed cleanly: it replays its journal when it is opened again',
      )
    }
    member.isOpen = false
  }

  /** Formats an empty file system as the drive of the slot. It has nothing yet, and catches up like any other drive. */
  async #takeIn(member: Member): Promise<void> {
    const { set, log } = this.#options
    if (set.currentCount === 0) {
      throw erasureErrors.drive_missing(
        `${member.path} is empty. It becomes a drive of the set once a drive that has all records is back.`,
      )
    }
    await member.drive.start()
    member.newDriveId = member.drive.driveId
    try {
      if (!set.isStopping) await set.replace(member, member.newDriveId)
    } catch (error) {
      await member.drive.stop()
      throw error
    }
    member.newDriveId = undefined
    await this.#take(member)
    log.warn({ path: member.path, slot: member.slot }, 'a drive was replaced: its records and shards are rebuilt')
  }

  async #reelect(): Promise<void> {
    const { set } = this.#options
    const open = set.members.filter(({ state }) => state === 'behind')
    const candidates = await Promise.all(
      open.map(async member => ({
        member,
        progress: await progressOf(member),
        isUnfinished: (await unfinishedEpoch(member)) !== undefined,
      })),
    )
    set.reelect(candidates)
  }

  /** Records whose last attempt to heal failed: some may be lost. */
  get failingCount(): number {
    const now = this.#options.clock.now()
    for (const [key, { againMs }] of this.#failing) if (now - againMs > retryMs) this.#failing.delete(key)
    return this.#failing.size
  }

  /** Number of missing or corrupt shards that no record lists as missing yet. A drive that may have notes counts as one. */
  get unmarkedShardCount(): number {
    const noting = this.#options.set.members.filter(({ mayHaveNotes }) => mayHaveNotes).length
    return this.foundShardCount + noting
  }

  /** Without drives that may have notes: every drive that comes back is one, whether or not it lacks a shard. */
  get foundShardCount(): number {
    return this.#options.set.missingShards.count + this.#beingMarked
  }

  /** Marks shards that were found missing, as soon as there is a write quorum. */
  async markMissingShards(): Promise<void> {
    const { set, healing, log } = this.#options
    if (set.currentCount < set.writeQuorum) return
    let count = 0
    try {
      // Shards that are reported in the meantime are marked in the next call.
      for (let left = set.missingShards.count; left > 0; left -= marksPerChange) {
        const missingShards = set.missingShards.take(marksPerChange)
        this.#beingMarked = missingShards.length
        try {
          count += await healing.markMissingShards(missingShards)
        } catch (error) {
          for (const missingShard of missingShards) set.onMissingShard(missingShard)
          throw error
        } finally {
          this.#beingMarked = 0
        }
        // Lets requests run between two changes.
        await turn()
      }
      for (const member of set.members)
        if (member.mayHaveNotes && member.state === 'current') count += await this.#markNoted(member)
    } finally {
      if (count > 0)
        log.warn({ records: count }, 'shards are missing or corrupt: they are rebuilt from the shards of other drives')
    }
  }

  /** Marks up to a page of the shards that a drive has noted as missing, then clears the notes. */
  async #markNoted(member: Member): Promise<number> {
    const { healing } = this.#options
    member.mayHaveNotes = false
    const { slot, drive } = member
    try {
      const notes = await drive.scan(notedStart, notedEnd, cursor => {
        const found: { readonly key: Buffer; readonly identity: number }[] = []
        while (found.length < marksPerChange && cursor.next()) {
          found.push({ key: keyOfNoted(Buffer.from(cursor.key)), identity: decodeIdentity(cursor.value) })
        }
        return found
      })
      if (notes.length === 0) return 0
      const missing = []
      for (const note of notes) if (!(await healing.hasNoted(member, note))) missing.push({ slot, ...note })
      const count = await healing.markMissingShards(missing)
      await drive.execute(procedure.clearNotes, notes)
      // There may be another page, or new notes.
      member.mayHaveNotes = true
      return count
    } catch (error) {
      member.mayHaveNotes = true
      throw error
    }
  }

  /** Heals some records, those with the fewest shards first. Resolves with whether there may be more to do. */
  async healSome(signal: AbortSignal): Promise<boolean> {
    const { set } = this.#options
    if (set.currentCount < set.writeQuorum) return false
    const queued = await this.#queued()
    await this.#healAll(queued, signal)
    if (queued.length > 0) return true
    return this.#healReplaced(signal)
  }

  /** Records in the ledger's order that lack a shard and are not skipped. */
  async #queued(): Promise<readonly Buffer[]> {
    const { set, clock } = this.#options
    const now = clock.now()
    for (const [key, untilMs] of this.#skipped) if (now > untilMs) this.#skipped.delete(key)
    const { drive } = set.leader()
    return drive.scanDerived(incompleteStart, incompleteEnd, cursor => {
      const keys: Buffer[] = []
      while (keys.length < recordsPerStep && cursor.next()) {
        const key = keyOfIncomplete(Buffer.from(cursor.key))
        if (!this.#skipped.has(key.latin1Slice())) keys.push(key)
      }
      return keys
    })
  }

  /** Begins no record after `signal` aborts. */
  async #healAll(keys: readonly Buffer[], signal: AbortSignal): Promise<void> {
    const left = keys.values()
    const healNext = async () => {
      for (const key of left) {
        if (signal.aborted) return
        await this.#healOne(key)
      }
    }
    await Promise.all(Array.from({ length: healedAtOnce }, healNext))
  }

  /** Counts a heal or scrub that a heal job or the scanner asked for. */
  countAsked({ before, after }: RecordHealth, { deep, dryRun }: HealOptions): void {
    if (deep) this.counts.scrubbed++
    if (deep && before.some(needsRebuild)) this.counts.damaged++
    if (!dryRun && isBetter(before, after)) this.counts.healed++
  }

  async #healOne(key: Buffer): Promise<void> {
    const { healing, clock, log } = this.#options
    const outcome = await healing.heal(key, { deep: false, dryRun: false })
    const failing = this.#failing.get(key.latin1Slice())
    const hasFailed = this.#failing.delete(key.latin1Slice())
    if (outcome === undefined) return
    const { before, after, error } = outcome
    const shardBytes = Math.ceil(outcome.dataBytes / outcome.dataCount)
    for (const member of this.#options.set.members) {
      if (!needsRebuild(before[member.slot])) continue
      const isDone = after[member.slot] === 'ok'
      // It begins with a shard that the drive got: of a record that is lost every drive lacks its shard, and none is rebuilt.
      if (member.rebuild === undefined && (hasFailed || !isDone)) continue
      member.rebuild = addAttempt(member.rebuild, {
        record: key,
        nowMs: clock.now(),
        isDone,
        isRetry: hasFailed,
        shardBytes,
      })
    }
    if (isBetter(before, after)) this.counts.healed++
    if (!after.some(needsRebuild)) {
      // The other missing shards are on offline drives: they wait until these are back.
      if (after.some(state => state === 'offline')) this.#skip(key, clock.now() + retryMs)
      return
    }
    if (error === undefined) {
      // No error was reported: another shard was found missing meanwhile, or one of several drives refused its shard.
      this.#skip(key, clock.now() + recheckMs)
      return
    }
    this.counts.failed++
    const { retryMsMax = retryMsMaxDefault } = this.#options
    const waitMs = Math.min(retryMsMax, failing === undefined ? retryMsMin : failing.waitMs * 2)
    const againMs = clock.now() + waitMs
    this.#skip(key, againMs)
    if (this.#failing.size < skippedMax) this.#failing.set(key.latin1Slice(), { waitMs, againMs })
    log.warn(
      { reason: error, againInMs: waitMs },
      'a record could not be healed and stays below its redundancy; it is tried again, and a heal job names the object',
    )
  }

  #skip(key: Buffer, untilMs: number): void {
    if (this.#skipped.size >= skippedMax) this.#skipped.delete(this.#skipped.keys().next().value!)
    this.#skipped.set(key.latin1Slice(), untilMs)
  }

  /** Ends the rebuild progress of all drives once nothing is left that can be rebuilt. */
  #onRebuilt(message: string): void {
    const { set, log } = this.#options
    if (!set.members.some(({ rebuild }) => rebuild !== undefined)) return
    for (const member of set.members) member.rebuild = undefined
    log.info(message)
  }

  /** Whether all records that lack a shard, `belowCount` of them, failed in their last attempt to heal. */
  async #isAllFailing(belowCount: number): Promise<boolean> {
    const { set } = this.#options
    if (this.failingCount < belowCount || !set.members.some(({ rebuild }) => rebuild !== undefined)) return false
    const { drive } = set.leader()
    const generations = Buffer.from(set.members.map(({ generation }) => generation))
    for (const key of this.#failing.keys()) {
      const record = await drive.get(Buffer.from(key, 'latin1'))
      // It was deleted or rewritten since: it lacks nothing.
      if (record === undefined || generationsOf(record.value).equals(generations)) this.#failing.delete(key)
    }
    return this.#failing.size >= belowCount
  }

  /** Heals records of replaced drives. The ledger lists no entries for those, so all records are read for their generations. */
  async #healReplaced(signal: AbortSignal): Promise<boolean> {
    const { set, ledger } = this.#options
    if (this.#walkFrom === undefined) {
      const { below } = await ledger.read()
      if (below.records === 0) this.#onRebuilt('all shards of the set are complete again')
      else if (await this.#isAllFailing(below.records))
        this.#onRebuilt('all shards of the set that can be rebuilt are complete again')
      if (below.records === 0 || this.#skipped.size >= below.records) return false
      this.#walkFrom = Buffer.from([0])
    }
    const generations = Buffer.from(set.members.map(({ generation }) => generation))
    const page = await this.#page(this.#walkFrom, own => !own.equals(generations))
    this.#walkFrom = page.next
    const keys = page.keys.filter(key => !this.#skipped.has(key.latin1Slice()))
    await this.#healAll(keys, signal)
    return this.#walkFrom !== undefined || keys.length > 0 || signal.aborted
  }

  /** Keys of some records whose generations are wanted, and where to continue. */
  #page(from: Buffer, isWanted: (generations: Buffer) => boolean) {
    const { drive } = this.#options.set.leader()
    return drive.scan(from, Buffer.from([0xff, 0xff]), cursor => {
      const keys: Buffer[] = []
      let more = cursor.next()
      for (let looked = 0; more && keys.length < recordsPerStep && looked < recordsPerPage; looked++) {
        if (cursor.key[0] === tableByte) more = cursor.seek(Buffer.from([tableByte + 1]))
        else {
          const generations = generationsOf(cursor.value)
          if (generations.length > 0 && isWanted(generations)) keys.push(Buffer.from(cursor.key))
          more = cursor.next()
        }
      }
      return { keys, next: more ? Buffer.from(cursor.key) : undefined }
    })
  }

  /** Reads every shard of some records, and rebuilds what is missing or corrupt. Resolves with false at the end of all records. */
  async scrubSome(signal: AbortSignal): Promise<boolean> {
    const page = await this.#page(this.scrubFrom, () => true)
    const startMs = this.#options.clock.now()
    for (const key of page.keys) {
      if (signal.aborted || this.#options.clock.now() - startMs >= scrubMsMax) return true
      const outcome = await this.#options.healing.heal(key, { deep: true, dryRun: false })
      this.counts.scrubbed++
      if (outcome?.before.some(needsRebuild)) this.counts.damaged++
      // Continues right after this key.
      this.scrubFrom = Buffer.concat([key, Buffer.from([0])])
    }
    this.scrubFrom = page.next ?? Buffer.from([0])
    return page.next !== undefined
  }
}

interface Attempt {
  readonly record: Buffer
  readonly nowMs: number
  readonly isDone: boolean
  readonly isRetry: boolean
  readonly shardBytes: number
}

function addAttempt(
  before: RebuildProgress | undefined,
  { record, nowMs, isDone, isRetry, shardBytes }: Attempt,
): RebuildProgress {
  const { startedMs, healed, healedBytes, failed, failedBytes, retried } = before ?? {
    ...{ startedMs: nowMs, healed: 0, healedBytes: 0, failed: 0, failedBytes: 0, retried: 0 },
  }
  const done = Number(isDone)
  return {
    startedMs,
    updatedMs: nowMs,
    record,
    healed: healed + done,
    healedBytes: healedBytes + done * shardBytes,
    failed: failed + 1 - done,
    failedBytes: failedBytes + (1 - done) * shardBytes,
    retried: retried + Number(isRetry),
  }
}
