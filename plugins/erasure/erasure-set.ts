/**
 * An erasure set in the storage thread (the main thread). Every drive keeps every record. A tiny body is kept whole with each record;
 * larger ones are kept as shards, one per drive.
 * One drive is the *leader*: procedures run only there, under its commit lock. The set replays their changes on the other drives,
 * the followers, in the same order. So each drive holds the leader's changes up to some point, and a drive that holds all changes can
 * become the leader.
 *
 * `backend.ts` creates the set and passes commits to `execute`. `RepairLoop`, `catchUp` and `Healing` bring drives and shards back;
 * `SlowDriveDetector` and `MountCheck` report drives that must be taken offline.
 *
 * A commit has three steps. The last ends when each follower that takes writes has applied the change or failed; the client is told of
 * success if a write quorum has it.
 *
 * | Step | On disk afterwards |
 * |---|---|
 * | stage: each drive stores its shard of the body (blobs were written before) | shards without a record, which no reader sees |
 * | run: the leader commits | the leader's record and shard |
 * | apply: the followers commit | their records and shards |
 *
 * Invariants, cited by the tests:
 *
 * 1. An acknowledged change is on at least a write quorum of drives. Any two write quorums share a drive, and so do a write quorum and
 *    a read quorum: if a start finds enough drives to read, one of them has every acknowledged change.
 * 2. No drive has a record before enough drives have the shards to read it. So a record that a crash left on a single drive can be
 *    copied to all drives.
 * 3. A drive counts as having a shard only after it has confirmed it (staged and applied, or healed). A drive that finds one of its
 *    shards missing writes a note in the same change, and keeps the note until the record says so. So a drive that was restored from an
 *    old copy is never assumed to have a shard.
 * 4. A drive that was offline serves no records before it has all of the leader's changes. A drive that is only partly caught up says so on disk,
 *    and never stops saying so after it has refused a change that it was sent meanwhile. It becomes the leader only if no better drive is there. Drives that then catch up from it compare all records instead of using the ring.
 * 5. Shards are combined only if they belong to the same identity of the data. A body beside a record is verified as a whole. Each
 *    shard of a blob is verified by its own checksums, and has an id that is valid on its drive only (`idInSlot`).
 * 6. No two leaders have the same epoch: before its first change a leader has stored a block of epochs on a write quorum (`promise`,
 *    `claimEpoch`), and takes its epochs from that block. A change that only a former leader has made is older than any change of the
 *    new epoch, and is never replayed over it.
 * 7. A shard is deleted only when the change that took it from its last record is on a write quorum (`UnconfirmedChanges`): before that the
 *    set may go on with drives that have never had the change, and with the record.
 */
import { crc32 } from '@node-rs/crc32'
import type { Clock, Logger } from 'svc/kernel'
import type { Disk, Outlook } from 'svc/plugins/drive/api'
import type { DrivePlace, DriveStatus, ExecuteOptions, Redundancy } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { type AnswerWatch, isDoneIn } from './answer-watch.ts'
import type { Codes } from './codec/codes.ts'
import type { ErasureCode } from './codec/erasure-code.ts'
import type { FreshBlobs } from './fresh-blobs.ts'
import { shardUnitOf } from './layout.ts'
import type { Member } from './member.ts'
import { MissingShards } from './missing-shards.ts'
import type { OpenedSet } from './opening.ts'
import { writeQuorumOf } from './parity.ts'
import {
  type Candidate,
  compareCandidates,
  decodeEpoch,
  decodeProgress,
  encodeSetDocument,
  nextGeneration,
  type SetDocument,
} from './set-document.ts'
import { progressKey, promiseKey } from './set-keys.ts'
import {
  type ApplyArgs,
  type Change,
  type DescribeArgs,
  type Mark,
  type MarkResult,
  procedure,
  Refusal,
  type RunArgs,
  type RunResult,
  type ShardNote,
  type ShowResult,
} from './set-procedures.ts'
import { plainHead, type RecordHead } from './set-record.ts'
import type { StagedBody } from './set-transaction.ts'
import { type MissingShard, requireQuorum, type SetView, slotOfShard } from './set-view.ts'
import { UnconfirmedChanges } from './unconfirmed-changes.ts'
import type { WatchedDrive } from './watched-drive.ts'

/** Bodies up to this size are stored whole in every record: their shards would take more space than they save. In bytes. */
export const wholeBytesMax = 512
/** Largest body that is stored beside a record, as shards. Larger bodies are blobs. In bytes. */
export const inlineBytesMax = 128 * 1024
/** Epochs between two claims: how many leaders may follow each other without claiming again. */
const epochsPerStart = 2 ** 20
/** How long closing a drive may take, in ticks of the watch: half a minute. */
const stopTicks = 120

export interface ErasureSetOptions {
  readonly opened: OpenedSet
  readonly codes: Codes
  /** From the configuration: parity of data with reduced redundancy. */
  readonly reducedParityCount: number
  readonly disk: Disk
  readonly log: Logger
  readonly freshBlobs: FreshBlobs
  readonly watch: AnswerWatch
  readonly clock: Clock
  newId(): string
  /** Called when the set of usable drives, or the leader, has changed. */
  onMembersChanged(): void
}

export class ErasureSet implements SetView {
  readonly dataCount: number
  readonly parityCount: number
  /** The least parity of what may be stored: as it was noted, or as it is configured now. */
  readonly leastParityCount: number
  readonly slotCount: number
  readonly unitBytes: number
  readonly writeQuorum: number
  readonly #codes: Codes
  readonly members: readonly Member[]
  #document: SetDocument
  #isDescribed = true
  readonly #options: ErasureSetOptions
  #leader: Member
  /** Epoch of this leader; 0 before it has claimed one. */
  #epoch = 0
  /** The last epoch in which the set document was written to a write quorum. */
  #describedEpoch = 0
  /** Errors of changes that may have been committed all the same, and the ids under which their shards are staged. */
  readonly #doubts = new WeakSet<object>()
  readonly #unconfirmed: UnconfirmedChanges
  #stagedInDoubt: { readonly id: string; readonly leadership: number }[] = []
  #claimingEpoch: Promise<void> | undefined
  #leadership = 0
  #rotation = 0
  #isStopping = false
  /** Shards that are missing although their record says that the drive has them. */
  readonly missingShards = new MissingShards()

  constructor(options: ErasureSetOptions) {
    const { opened, codes } = options
    this.#options = options
    this.#document = opened.document
    this.members = opened.members
    this.#codes = codes
    this.parityCount = opened.document.parityCount
    this.leastParityCount = Math.min(opened.leastParityCount, this.parityOf('reduced'))
    this.slotCount = opened.document.slots.length
    this.dataCount = this.slotCount - this.parityCount
    this.unitBytes = opened.document.unitBytes
    this.writeQuorum = writeQuorumOf(this.dataCount, this.parityCount)
    this.#leader = opened.leader
    this.#unconfirmed = new UnconfirmedChanges(options.clock)
    this.#unconfirmed.doubtElected()
    for (const member of this.members) if (member.isOpen) this.#noteDevice(member)
  }

  /** Epoch of this leader, which no other leader has had; 0 before it has claimed one. */
  get epoch(): number {
    return this.#epoch
  }

  /** Increases with each new leader in this process. */
  get leadership(): number {
    return this.#leadership
  }

  /**
   * Claims an epoch that no leader has had, and commits a first change in it. Both are on the write quorum before any other change:
   * from then on a drive that comes back with changes that were never acknowledged is behind this leader, whatever it holds.
   */
  claimEpoch(): Promise<void> {
    if (this.#epoch !== 0) return Promise.resolve()
    this.#claimingEpoch ??= this.#claimEpoch().finally(() => {
      this.#claimingEpoch = undefined
    })
    return this.#claimingEpoch
  }

  /**
   * True once this leader's epoch is on a write quorum. Changes of earlier leaders that no write quorum has can then never be committed, whichever
   * drives come back.
   */
  get isEpochClaimed(): boolean {
    return this.#epoch !== 0 && this.#describedEpoch === this.#epoch
  }

  async #claimEpoch(): Promise<void> {
    const { leadership } = this
    const open = this.members.filter(({ takesWrites }) => takesWrites)
    const known = await Promise.all(open.map(member => this.#attempt(member, () => epochKnownTo(member.drive))))
    const epoch = (Math.floor(Math.max(0, ...known.map(each => each ?? 0)) / epochsPerStart) + 1) * epochsPerStart
    const promised = await Promise.all(
      open.map(member => this.#attempt(member, () => member.drive.execute(procedure.promise, epoch).then(() => true))),
    )
    const count = promised.filter(Boolean).length
    if (count < this.writeQuorum || leadership !== this.#leadership) {
      throw storageErrors.unavailable(
        `${count} drives have stored the epoch of the leader; ${this.writeQuorum} are needed to write.`,
      )
    }
    this.#epoch = epoch
    try {
      await this.describe()
    } catch (error) {
      if (leadership === this.#leadership) this.#epoch = 0
      throw error
    }
  }

  async #attempt<T>({ slot }: Member, run: () => Promise<T>): Promise<T | undefined> {
    try {
      return await run()
    } catch (error) {
      this.onDriveError(slot, error)
      return undefined
    }
  }

  get document(): SetDocument {
    return this.#document
  }

  /**
   * Gives the slot of an offline drive to a drive that has just been formatted. With a write quorum this is written to the set document
   * first, or nothing changes. Without a quorum it is written when this drive has caught up. A start in between finds a drive that
   * the document does not name, as after any other replacement, and gives it the same slot and generation.
   */
  async replace(member: Member, driveId: string): Promise<void> {
    const { slot, generation } = member
    const before = this.#document
    const next = nextGeneration(generation)
    const slots = before.slots.map((each, number) => (number === slot ? { driveId, generation: next } : each))
    this.leader()
    const canWrite = this.currentCount >= this.writeQuorum
    if (canWrite && this.#epoch === 0) await this.claimEpoch()
    this.#document = { ...before, slots }
    member.generation = next
    this.#isDescribed = canWrite
    if (!canWrite) return
    try {
      await this.describe()
    } catch (error) {
      this.#document = before
      member.generation = generation
      throw error
    }
  }

  /** False if the current set document still has to be written to the drives, or the last attempt failed. */
  get isDescribed(): boolean {
    return this.#isDescribed
  }

  /** Writes the set document, and the least parity if it is noted as more, to the drives. */
  async describe(): Promise<void> {
    this.#isDescribed = true
    const { leastParityCount } = this
    const args: DescribeArgs = { document: encodeSetDocument(this.document), leastParityCount, epoch: this.#epoch }
    try {
      await this.#lead(procedure.describe, args)
      this.#describedEpoch = Math.max(this.#describedEpoch, args.epoch)
    } catch (error) {
      this.#isDescribed = false
      throw error
    }
  }

  driveAt(slot: number): WatchedDrive | undefined {
    const member = this.members[slot]!
    return member.takesWrites ? member.drive : undefined
  }

  /** Does nothing: the storage thread, unlike a worker, need not attach to the drives. */
  ready(): void {}

  leader(): Member {
    if (this.#leader.state !== 'current') throw storageErrors.unavailable('No drive of the set has all of its records.')
    return this.#leader
  }

  codeOf(parityCount: number): ErasureCode {
    return this.#codes.of(parityCount)
  }

  parityOf(redundancy: Redundancy | undefined): number {
    return redundancy === 'reduced' ? Math.min(this.parityCount, this.#options.reducedParityCount) : this.parityCount
  }

  generationAt(slot: number): number {
    return this.members[slot]!.generation
  }

  get currentCount(): number {
    let count = 0
    for (const { state } of this.members) if (state === 'current') count++
    return count
  }

  get isWhole(): boolean {
    return this.currentCount === this.slotCount
  }

  async execute(
    name: string,
    args: unknown,
    body: Uint8Array | undefined,
    { redundancy }: ExecuteOptions = {},
  ): Promise<unknown> {
    this.requireQuorum()
    if (this.#epoch === 0) await this.claimEpoch()
    if (body !== undefined && body.length > inlineBytesMax) throw storageErrors.body_too_large()
    const isSharded = body !== undefined && body.length > wholeBytesMax
    const staged = isSharded ? await this.#stage(body, this.parityOf(redundancy)) : undefined
    const { leadership } = this
    try {
      const run: RunArgs = { name, args, body, staged, epoch: this.#epoch, slot: this.leader().slot }
      return await this.#lead(procedure.run, run, staged && quorumOf(staged.head))
    } catch (error) {
      // The leader may have the change and come back with it: its shards must be there then.
      if (staged !== undefined && this.#doubts.has(error as object))
        this.#stagedInDoubt.push({ id: staged.id, leadership })
      else if (staged !== undefined) this.#unstage([staged.id])
      throw error
    }
  }

  requireQuorum(): void {
    if (this.#isStopping) throw storageErrors.unavailable('The set is being closed.')
    requireQuorum(this, this.currentCount)
  }

  /** Stores on each drive its shard of a body. */
  async #stage(body: Uint8Array, parityCount: number): Promise<StagedBody> {
    const { slotCount } = this
    const dataCount = slotCount - parityCount
    const id = this.#options.newId()
    const rotation = this.#rotation
    this.#rotation = (rotation + 1) % slotCount
    const unit = shardUnitOf(body.length, dataCount)
    const shards = split(body, unit, dataCount, slotCount)
    this.codeOf(parityCount).encode(shards)
    const generations = new Uint8Array(slotCount)
    await Promise.all(
      shards.map(async (shard, number) => {
        const member = this.members[slotOfShard(this, number, rotation)]!
        if (!member.takesWrites) return
        const { generation } = member
        try {
          await member.drive.execute(procedure.stage, { id }, shard)
          generations[member.slot] = generation
        } catch (error) {
          this.onDriveError(member.slot, error)
        }
      }),
    )
    let count = 0
    for (const generation of generations) if (generation !== 0) count++
    const needed = quorumOf({ dataCount, parityCount })
    if (count < needed) {
      this.#unstage([id])
      if (this.members.some(({ drive }) => isFull(drive))) throw storageErrors.full()
      throw storageErrors.unavailable(`${count} drives took their shard; ${needed} are needed.`)
    }
    const head = {
      ...plainHead,
      body: 'sharded' as const,
      dataCount,
      parityCount,
      lessParity: this.parityCount - parityCount,
      rotation,
      bodyBytes: body.length,
      bodyCheck: crc32(body),
      dataBytes: body.length,
      generations,
    }
    return { id, head }
  }

  /** If this fails on a drive, its shards stay staged until the drive catches up or the server starts again. */
  #unstage(ids: readonly string[]): void {
    if (ids.length === 0) return
    for (const { takesWrites, drive } of this.members) {
      if (takesWrites) drive.execute(procedure.unstage, ids).catch(() => undefined)
    }
  }

  /**
   * Runs a procedure on the leader and passes its change to the followers. The leader's answers arrive in the order of its commits, and
   * each change goes to the followers in the same turn of the event loop: so they get the changes in the same order.
   */
  #lead(name: string, args: unknown, quorum = this.writeQuorum): Promise<unknown> {
    const leader = this.leader()
    const running = leader.drive.execute<RunResult>(name, args)
    const serial = this.#unconfirmed.begin()
    return running.then(
      ({ result, change }) => {
        if (change !== undefined) return this.#spread(serial, change, leader, result, quorum)
        this.#unconfirmed.drop(serial)
        return result
      },
      error => {
        if (error instanceof Refusal || !isDriveFailure(error)) {
          this.#unconfirmed.drop(serial)
          throw error instanceof Refusal ? error.cause : error
        }
        this.#failMember(leader, error)
        throw this.#doubtful(
          serial,
          'The leading drive has failed during the commit. The change may or may not have been made.',
          error,
        )
      },
    )
  }

  /** Must be called in the order of changes; passes the change to each follower before it returns. */
  async #spread(serial: number, change: Change, leader: Member, result: unknown, quorum: number): Promise<unknown> {
    // The followers have another leader by now, and got all earlier changes of the old one before.
    if (leader !== this.#leader) {
      const message = 'The leading drive has failed during the commit. The change may become visible later.'
      throw this.#doubtful(serial, message)
    }
    const answers: Promise<boolean>[] = []
    for (const member of this.members) {
      if (member !== leader && member.takesWrites) answers.push(this.#apply(change, member))
    }
    // The leader has the change.
    let count = 1
    for (const isCounted of await Promise.all(answers)) if (isCounted) count++
    if (count >= quorum) {
      this.#unconfirmed.confirm(serial)
      return result
    }
    throw this.#doubtful(
      serial,
      `The change is on ${count} drives; ${quorum} are needed. It is not acknowledged, but may become visible later.`,
    )
  }

  /** Until a later change is on a quorum, which the repair loop makes if nobody else does, nobody knows what becomes of the change. */
  #doubtful(serial: number, message: string, cause?: unknown): Error {
    this.#unconfirmed.doubt(serial)
    this.#isDescribed = false
    const error = storageErrors.unavailable(message, { cause })
    this.#doubts.add(error)
    return error
  }

  /** Resolves with whether the drive counts towards the quorum: it has this change and all before it. */
  #apply(change: Change, member: Member): Promise<boolean> {
    const isCatchingUp = member.state === 'behind'
    const { slot, generation } = member
    const args: ApplyArgs = { ...change, slot, generation, isCatchingUp, lastSent: member.lastSent }
    if (isCatchingUp) member.lastSent = change.progress
    return member.drive.execute<ShardNote[]>(procedure.apply, args).then(
      notes => {
        this.#onShardNotes(slot, notes)
        return !isCatchingUp && member.state === 'current'
      },
      error => {
        // Whatever the reason: it lacks a change now.
        this.#failMember(member, error)
        return false
      },
    )
  }

  #onShardNotes(slot: number, notes: readonly ShardNote[]): void {
    if (notes.length > 0) this.members[slot]!.mayHaveNotes = true
    for (const { key, identity } of notes) this.onMissingShard({ slot, key, identity })
  }

  onMissingShard(missingShard: MissingShard): void {
    this.missingShards.add(missingShard)
  }

  get hasDoubts(): boolean {
    return this.#unconfirmed.hasDoubts
  }

  /** What the drive has done that will not be undone. */
  outlookOf({ state, hasCaughtUp, returnedMs }: Member): Outlook {
    const { oldestMs } = this.#unconfirmed
    const never = Number.NEGATIVE_INFINITY
    return {
      afterMs: hasCaughtUp ? never : returnedMs,
      beforeMs: state === 'offline' ? never : oldestMs,
      term: this.#leadership,
    }
  }

  /** Reads records at this point of the order of changes; calls `then` before any later change is passed to the drives. */
  show(keys: readonly Buffer[], then: (shown: ShowResult) => void): Promise<void> {
    const leader = this.leader()
    return leader.drive.execute<ShowResult>(procedure.show, keys).then(then, error => {
      this.onDriveError(leader.slot, error)
      throw error
    })
  }

  /** Writes into records which drives have their shards. Resolves with how many records still had the same data. */
  async mark(marks: readonly Mark[]): Promise<number> {
    if (this.#epoch === 0) await this.claimEpoch()
    const args = { marks, epoch: this.#epoch, slot: this.leader().slot }
    return (await this.#lead(procedure.mark, args)) as MarkResult['result']
  }

  onDriveError(slot: number, error: unknown): void {
    if (isDriveFailure(error)) this.#failMember(this.members[slot]!, error)
  }

  /** The drive lacks a change, or is gone: takes it offline whatever the error. */
  onLost(member: Member, error: unknown): void {
    this.#failMember(member, error)
  }

  /** The drive does not answer: takes it offline and rejects what it has not answered. */
  onTimeout(member: Member, error: unknown): void {
    member.timeoutCount++
    this.#failMember(member, error, true)
  }

  #failMember(member: Member, error: unknown, isTimedOut = false): void {
    if (member.state === 'offline' || this.#isStopping) return
    const { log } = this.#options
    member.state = 'offline'
    member.isTimedOut = isTimedOut
    member.error = error
    // Answers that still arrive are ignored: the drive counts as lacking every change from now on.
    member.drive.answers.suspend(error)
    log.error(
      { err: error, path: member.path, slot: member.slot },
      'a drive of the set has failed: it is offline, and is tried again every few seconds',
    )
    if (member === this.#leader) this.#chooseLeader()
    this.#options.onMembersChanged()
  }

  /**
   * Every current drive was passed the same changes, so any may lead. Prefers a drive without unanswered requests, otherwise the one whose oldest
   * unanswered request is the newest: it has made every change that was acknowledged.
   */
  #chooseLeader(): void {
    const owing = ({ drive }: Member) => drive.answers.oldest?.serial ?? Number.POSITIVE_INFINITY
    const current = this.members.filter(({ state }) => state === 'current')
    // Others still make what they had missed, and would be read without it.
    const caughtUp = current.filter(({ hasCaughtUp }) => hasCaughtUp)
    const next = (caughtUp.length > 0 ? caughtUp : current).reduce<Member | undefined>(
      (best, each) => (best && owing(best) >= owing(each) ? best : each),
      undefined,
    )
    if (next === undefined) {
      this.#options.log.error(
        'no drive of the set has all of its records: nothing can be read or written until such a drive is back',
      )
      return
    }
    this.#leader = next
    this.#leadership++
    if (this.#epoch !== 0) {
      this.#epoch++
      // A change in the new epoch outdates changes that only the failed leader has.
      const { leadership } = this
      this.describe().then(
        () => this.#resolveDoubts(leadership),
        error =>
          this.#options.log.warn(
            { err: error },
            'the new leader could not record its epoch on a write quorum; the repair loop tries again',
          ),
      )
    }
    this.#options.log.warn({ path: next.path }, 'the leading drive has failed: another drive of the set leads now')
  }

  /** Drops staged shards of unconfirmed changes: the former leaders that may have made them are outdated now. */
  #resolveDoubts(leadership: number): void {
    const isResolved = (doubt: { readonly leadership: number }) => doubt.leadership < leadership
    this.#unstage(this.#stagedInDoubt.filter(isResolved).map(({ id }) => id))
    this.#stagedInDoubt = this.#stagedInDoubt.filter(doubt => !isResolved(doubt))
  }

  /** The drive has every change. To be called in the continuation of the `show` that gave it the last ones. */
  onCaughtUp(member: Member): void {
    member.state = 'current'
    member.error = undefined
    if (this.#leader.state !== 'current') this.#chooseLeader()
    if (this.isWhole) {
      this.#options.log.info(
        { drives: this.slotCount },
        'all drives of the set have all records; missing shards are rebuilt',
      )
    }
    this.#options.onMembersChanged()
  }

  /**
   * Chooses a leader when no drive has all records: as at a start, the most advanced of the candidates leads, if enough drives to read
   * have come back. Returns whether there is a leader now.
   */
  reelect(candidates: readonly (Candidate & { readonly member: Member })[]): boolean {
    if (this.currentCount > 0 || candidates.length < this.dataCount) return false
    const best = candidates.reduce((a, b) => (compareCandidates(b, a) > 0 ? b : a))
    this.#epoch = 0
    this.#leadership++
    this.#unconfirmed.doubtElected()
    best.member.state = 'current'
    best.member.hasCaughtUp = true
    best.member.error = undefined
    this.#leader = best.member
    this.#options.onMembersChanged()
    return true
  }

  /** A drive that was offline answers again. `isOpened`: it was closed and opened; otherwise it stayed open all the time. */
  onReturned(member: Member, isOpened: boolean): void {
    if (isOpened) {
      member.openings++
      this.#noteDevice(member)
    }
    member.isOpen = true
    member.isTimedOut = false
    member.mayHaveNotes = true
    member.drive.answers.resume()
    member.state = 'behind'
    member.hasCaughtUp = false
    member.returnedMs = Number(this.#options.clock.monotonicNs() / 1_000_000n)
    this.#options.onMembersChanged()
  }

  #noteDevice(member: Member): void {
    member.device = undefined
    this.#options.disk.deviceOf?.(member.path).then(
      device => {
        member.device = device
      },
      // The next request to the drive reports its error.
      () => undefined,
    )
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  async status(): Promise<readonly DriveStatus[]> {
    const statuses = await Promise.all(
      this.members.map(async member => {
        const own = member.isOpen ? (await member.drive.drives())[0] : undefined
        const status = member.status(own)
        // Tells an operator which disk to look for.
        const id = status.id === '' ? this.#document.slots[member.slot]!.driveId : status.id
        return { index: member.index, status: { ...status, id, place: this.#placeOf(member) } }
      }),
    )
    return statuses.sort((a, b) => a.index - b.index).map(({ status }) => status)
  }

  #placeOf({ slot, state, rebuild }: Member): DrivePlace {
    const { parityCount, leastParityCount, dataCount, writeQuorum } = this
    const isHealing = state === 'behind' || (state === 'current' && rebuild !== undefined)
    const quorums = { readQuorum: dataCount, writeQuorum }
    return {
      pool: 0,
      set: 0,
      slot,
      parityCount,
      reducedParityCount: this.parityOf('reduced'),
      leastParityCount,
      ...quorums,
      isCurrent: state === 'current',
      isHealing,
      ...(rebuild && { rebuild }),
    }
  }

  /** Does not wait for a drive that does not answer: its requests end with the process. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const { log, watch } = this.#options
    const stopping = this.members
      .filter(({ isOpen }) => isOpen)
      .map(async ({ drive, path }) => {
        const stopped = drive.stop()
        if (await isDoneIn(stopped, watch, drive.answers.unansweredCount > 0 ? 0 : stopTicks)) return
        drive.answers.suspend(storageErrors.unavailable('The set is being closed.'))
        log.error({ path }, 'a drive did not answer while closing; the next start replays its journal')
        stopped.catch(() => undefined)
      })
    await Promise.all(stopping)
  }
}

/** The greatest epoch of any leader that the drive has stored. */
async function epochKnownTo(drive: WatchedDrive): Promise<number> {
  const promised = await drive.get(promiseKey)
  const progress = await drive.get(progressKey)
  return Math.max(
    promised === undefined ? 0 : decodeEpoch(promised.value),
    progress === undefined ? 0 : decodeProgress(progress.value).epoch,
  )
}

/** Never less than the write quorum of the set: less parity means more data shards. */
function quorumOf({ dataCount, parityCount }: Pick<RecordHead, 'dataCount' | 'parityCount'>): number {
  return writeQuorumOf(dataCount, parityCount)
}

/** Views of the body; the last data shards are copies, padded with zeros. Parity shards are new buffers. */
function split(body: Uint8Array, unit: number, dataCount: number, slotCount: number): Uint8Array[] {
  return Array.from({ length: slotCount }, (_, shard) => {
    const start = shard * unit
    if (shard < dataCount && start + unit <= body.length) return body.subarray(start, start + unit)
    const bytes = Buffer.alloc(unit)
    if (shard < dataCount && start < body.length) bytes.set(body.subarray(start))
    return bytes
  })
}

/** Whether an error means that the drive cannot be used any more. */
function isDriveFailure(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'faulty' || code === 'unavailable' || (typeof code === 'string' && /^E[A-Z]/.test(code))
}

function isFull(drive: WatchedDrive): boolean {
  const statuses = drive.drives()
  return !(statuses instanceof Promise) && statuses.some(({ state }) => state === 'full')
}
