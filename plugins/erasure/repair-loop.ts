/**
 * What a set does in the background, a step at a time: brings back drives that were away, writes down what was found missing, makes
 * it anew, and reads everything once in a while. Nothing here is needed for an answer to a client.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock, Logger } from 'svc/kernel'
import type { DriveLook } from 'svc/plugins/drive/api'
import { type AnswerWatch, isDoneIn } from './answer-watch.ts'
import type { RecordHealth, ShardState } from './api.ts'
import { catchUp, progressOf, unfinishedEpoch } from './catching-up.ts'
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

/** How long drives that are away are waited for, in ticks of the watch: two seconds. What takes longer goes on. */
const reopenTicks = 8
/** Records that are healed before others get their turn. */
const recordsPerStep = 64
/** Of them at once: what they write shares the commits of the drives. */
const healedAtOnce = 16
/** Records that are looked at in one turn. */
const recordsPerPage = 10_000
/** Damages that are written down in one change: for longer than that nobody waits for them. */
const marksPerChange = 256
/** After that long, reading everything lets others have their turn; a large body may take longer. */
const scrubMsMax = 250
/** After that long, what could not be healed is tried again. */
const retryMs = 60_000
/** After that long, what was lacking a shard again as soon as it was healed. */
const recheckMs = 2000
/** Records that are remembered as not to be healed for now. */
const skippedMax = 100_000

export interface RepairLoopOptions {
  readonly set: ErasureSet
  readonly healing: Healing
  readonly ledger: Ledger
  readonly clock: Clock
  readonly watch: AnswerWatch
  readonly log: Logger
  /** What a folder says of itself. */
  look(path: string): Promise<DriveLook>
  /** Whether there is a folder. */
  isThere(path: string): Promise<boolean>
  readonly isMount: IsMount
}

export interface HealCounts {
  healed: number
  failed: number
  /** Records whose shards were all read. */
  scrubbed: number
  /** Of them, those that lacked one, or had a damaged one. */
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
  throw erasureErrors.drive_missing(`The drive at ${path} is another one. Restart to take it into the set.`)
}

export class RepairLoop {
  readonly #options: RepairLoopOptions
  /** Records that are not to be tried for now, as latin1, with the time of the last try. */
  readonly #skipped = new Map<string, number>()
  /** Those that could not be healed at the last try, as latin1, with its time. What is gone is not tried again, and forgotten. */
  readonly #failing = new Map<string, number>()
  #bringing: Promise<boolean> | undefined
  #beingMarked = 0
  /** Where the walk goes on that looks for records of drives that were replaced. */
  #walkFrom: Buffer | undefined
  /** Where reading everything goes on: at the first record with this key or a later one. */
  scrubFrom = Buffer.from([0])
  /** Since the start. */
  readonly counts: HealCounts = { healed: 0, failed: 0, scrubbed: 0, damaged: 0 }

  constructor(options: RepairLoopOptions) {
    this.#options = options
  }

  /**
   * Opens drives that are away, and has those that are back catch up. Resolves with whether something was done. Who asks while it is under
   * way gets the same, until the own `signal`.
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
        log.warn({ err: error, path: member.path }, 'a drive could not catch up; it is tried again')
      }
    }
    await this.#claimEpoch()
    return isAnything
  }

  /** As soon as there are enough drives: what takes long to catch up is not waited for. */
  async #claimEpoch(): Promise<void> {
    const { set, log } = this.#options
    if ((set.epoch !== 0 && set.isDescribed) || set.currentCount < set.writeQuorum) return
    try {
      if (set.epoch === 0) await set.claimEpoch()
      else await set.describe()
    } catch (error) {
      log.warn({ err: error }, 'the drives could not be told who leads; the next write tries it again')
    }
  }

  /** One that does not answer holds up neither the others nor what is to be done after them: it goes on by itself. */
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

  /** Drives that the start has not waited for. */
  expect(pending: readonly PendingOpening[]): void {
    const { set, log } = this.#options
    for (const { member, opening } of pending) {
      this.#follow(member, async () => {
        await opening
        member.isOpen = true
        if (!set.isStopping) requireOwn(member, member.drive.driveId, set)
        await this.#take(member)
        log.info({ path: member.path, slot: member.slot }, 'a drive has answered at last')
      })
    }
  }

  /** What has just been opened becomes a drive of the set, or is closed with it. */
  async #take(member: Member): Promise<void> {
    if (!this.#options.set.isStopping) this.#options.set.onReturned(member, true)
    else await member.drive.stop()
  }

  async #reopen(member: Member): Promise<void> {
    const { set, log, look } = this.#options
    // Nothing can be done with it before it answers.
    if (member.isOpen && member.drive.answers.unansweredCount > 0) return
    if (member.isOpen && member.isTimedOut && !isFaulty(member)) {
      // It has everything that it was given in that order, and needs no new opening. One that cannot write is opened again next time.
      member.isTimedOut = false
      await member.drive.probe()
      if (set.isStopping) return
      set.onReturned(member, false)
    } else {
      if (member.isOpen) await this.#close(member)
      const { driveId, problem, state } = await look(member.path)
      if (driveId !== undefined && driveId === member.newDriveId) return this.#takeIn(member)
      if (state === 'empty' && (await this.#options.isThere(member.path))) {
        // A file system that was put there. A folder of another one may only not be mounted: it is taken at a start alone.
        const { isMount } = this.#options
        if (await isMount(member.path)) return this.#takeIn(member)
        const others = set.members.filter(({ takesWrites }) => takesWrites)
        const areMounts = (await Promise.all(others.map(({ path }) => isMount(path)))).includes(true)
        throw erasureErrors.drive_missing(
          areMounts
            ? notMounted(member.path)
            : `${member.path} is empty. If a new drive is to be this folder, restart the server; if its file system is not mounted, mount it.`,
        )
      }
      if (driveId === undefined) throw erasureErrors.drive_missing(problem ?? `There is no drive at ${member.path}.`)
      requireOwn(member, driveId, set)
      await member.drive.start()
      await this.#take(member)
    }
    log.info({ path: member.path, slot: member.slot }, 'a drive is back')
  }

  /** What its hardware does not do any more is not waited for: it is read from the journal at the next opening. */
  async #close(member: Member): Promise<void> {
    try {
      await member.drive.stop()
    } catch (error) {
      this.#options.log.warn({ err: error, path: member.path }, 'a drive that has failed could not be closed cleanly')
    }
    member.isOpen = false
  }

  /** An empty file system becomes the drive of the slot: it has nothing, and is given everything. */
  async #takeIn(member: Member): Promise<void> {
    const { set, log } = this.#options
    if (set.currentCount === 0) {
      throw erasureErrors.drive_missing(
        `${member.path} is empty. It is taken into the set when a drive that has all records is there.`,
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
    log.warn({ path: member.path, slot: member.slot }, 'a drive was replaced: its shards are made anew')
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

  /** Records that could not be healed at the last try: some may be lost. */
  get failingCount(): number {
    const now = this.#options.clock.now()
    for (const [key, triedMs] of this.#failing) if (now - triedMs > 2 * retryMs) this.#failing.delete(key)
    return this.#failing.size
  }

  /** Shards that were found missing or damaged, of which no record says so yet. */
  get unmarkedShardCount(): number {
    const noting = this.#options.set.members.filter(({ mayHaveNotes }) => mayHaveNotes).length
    return this.#options.set.missingShards.count + this.#beingMarked + noting
  }

  /** Writes down what readers found missing, as soon as anything can be written. */
  async markMissingShards(): Promise<void> {
    const { set, healing, log } = this.#options
    if (set.currentCount < set.writeQuorum) return
    let count = 0
    try {
      // What comes meanwhile is written down the next time.
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
        // Requests come between two changes.
        await turn()
      }
      for (const member of set.members)
        if (member.mayHaveNotes && member.state === 'current') count += await this.#markNoted(member)
    } finally {
      if (count > 0)
        log.warn({ records: count }, 'shards are missing or damaged: they are made anew where enough others are left')
    }
  }

  /** What a drive has noted to lack; a page of it. Notes are forgotten once records say the same, or are of other data. */
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
      const count = await healing.markMissingShards(notes.map(note => ({ slot, ...note })))
      await drive.execute(procedure.clearNotes, notes)
      // There may be more, and more may have come.
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

  /** Records that lack a shard on a drive that is there, as far as it may be tried now. */
  async #queued(): Promise<readonly Buffer[]> {
    const { set, clock } = this.#options
    const now = clock.now()
    for (const [key, triedMs] of this.#skipped) if (now - triedMs > retryMs) this.#skipped.delete(key)
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

  /** Not those whose turn would come after `signal`. */
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

  /** What was healed and read because somebody asked for it. */
  countAsked({ before, after }: RecordHealth, { deep, dryRun }: HealOptions): void {
    if (deep) this.counts.scrubbed++
    if (deep && before.some(needsRebuild)) this.counts.damaged++
    if (!dryRun && isBetter(before, after)) this.counts.healed++
  }

  async #healOne(key: Buffer): Promise<void> {
    const { healing, clock, log } = this.#options
    const outcome = await healing.heal(key, { deep: false, dryRun: false })
    const hasFailed = this.#failing.delete(key.latin1Slice())
    if (outcome === undefined) return
    const { before, after, error } = outcome
    for (const member of this.#options.set.members) {
      if (!hasFailed && needsRebuild(before[member.slot])) member.isRebuilding = true
    }
    if (isBetter(before, after)) this.counts.healed++
    if (!after.some(needsRebuild)) {
      // What is left is on drives that are away: nothing to be done before they are back.
      if (after.some(state => state === 'offline')) this.#skip(key, clock.now())
      return
    }
    if (error === undefined) {
      // Nothing has failed: it was found to lack another shard meanwhile.
      this.#skip(key, clock.now() - retryMs + recheckMs)
      return
    }
    this.counts.failed++
    this.#skip(key, clock.now())
    if (this.#failing.size < skippedMax) this.#failing.set(key.latin1Slice(), clock.now())
    log.warn({ reason: error }, 'a record could not be healed; it is tried again, and a heal job says which it is')
  }

  #skip(key: Buffer, nowMs: number): void {
    if (this.#skipped.size >= skippedMax) this.#skipped.delete(this.#skipped.keys().next().value!)
    this.#skipped.set(key.latin1Slice(), nowMs)
  }

  /** A drive that lacks only what nobody can make is not being filled. */
  #onRebuilt(message: string): void {
    const { set, log } = this.#options
    if (!set.members.some(({ isRebuilding }) => isRebuilding)) return
    for (const member of set.members) member.isRebuilding = false
    log.info(message)
  }

  /** Whether of so many records that lack a shard none is left but those that could not be healed at the last try. */
  async #isAllFailing(belowCount: number): Promise<boolean> {
    const { set } = this.#options
    if (this.failingCount < belowCount || !set.members.some(({ isRebuilding }) => isRebuilding)) return false
    const { drive } = set.leader()
    const generations = Buffer.from(set.members.map(({ generation }) => generation))
    for (const key of this.#failing.keys()) {
      const record = await drive.get(Buffer.from(key, 'latin1'))
      // Deleted, or written anew, since: it lacks nothing.
      if (record === undefined || generationsOf(record.value).equals(generations)) this.#failing.delete(key)
    }
    return this.#failing.size >= belowCount
  }

  /** Records of a drive that was replaced say nothing of that themselves: all are looked at. */
  async #healReplaced(signal: AbortSignal): Promise<boolean> {
    const { set, ledger } = this.#options
    if (this.#walkFrom === undefined) {
      const { below } = await ledger.read()
      if (below.records === 0) this.#onRebuilt('everything in the set has all of its shards again')
      else if (await this.#isAllFailing(below.records))
        this.#onRebuilt('what can be made anew has all of its shards again')
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

  /** Some records whose generations are wanted, and where to go on. */
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

  /** Reads every shard of some records, and makes anew what is damaged. Resolves with false once all have been read. */
  async scrubSome(signal: AbortSignal): Promise<boolean> {
    const page = await this.#page(this.scrubFrom, () => true)
    const startMs = this.#options.clock.now()
    for (const key of page.keys) {
      if (signal.aborted || this.#options.clock.now() - startMs >= scrubMsMax) return true
      const outcome = await this.#options.healing.heal(key, { deep: true, dryRun: false })
      this.counts.scrubbed++
      if (outcome?.before.some(needsRebuild)) this.counts.damaged++
      // The key right after it.
      this.scrubFrom = Buffer.concat([key, Buffer.from([0])])
    }
    this.scrubFrom = page.next ?? Buffer.from([0])
    return page.next !== undefined
  }
}
