/**
 * A set in the thread that commits. One drive *leads*: procedures run on it, once, under its commit lock, and what they changed is
 * repeated by the others in the same order. So each drive's records are those of the leader up to some point, and a drive that has
 * come as far as the leader can lead in its place.
 *
 * A commit goes through these steps; the client has its answer after the last.
 *
 * | Step | On disk afterwards |
 * |---|---|
 * | stage: a shard of the body on every drive (blobs were written before) | shards nobody sees |
 * | run: on the leader | its record, with its shard |
 * | apply: on the others | their records, with theirs |
 *
 * Invariants, cited by the tests:
 *
 * 1. An acknowledged change is on at least the write quorum of drives. Two write quorums have a drive in common, and so has a write
 *    quorum with any read quorum: whichever drives a start finds, if they are enough to read, one of them has every such change.
 * 2. A record is never on a drive before shards enough to read it are on drives: what a crash left on one drive only can go to all.
 * 3. A drive counts as having a shard only if it has said so: staged and applied, or healed. What it turns out to lack it notes in the
 *    same change, and the note stays until the record is marked: a drive that comes back as it was once is believed nothing.
 * 4. A drive that was away is never asked for records before it has come as far as the leader. One that was given only a part of what it
 *    lacks says so, and leads only where no better one is there; whoever lacks what it has compares all records.
 * 5. Data that is put together from shards is of one identity. A body beside a record is verified as a whole; of a blob each shard by its
 *    own checksums, under an id that it has on that drive only (`idInSlot`).
 * 6. No two leaders have one epoch: a write quorum has promised it before the leader's first change in it (`claim`), and a change that a
 *    former leader has made alone comes behind it for ever.
 */
import { crc32 } from 'node:zlib'
import type { Logger, Ports } from 'svc/kernel'
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
import { type MissingShard, type SetView, slotOfShard } from './set-view.ts'
import type { WatchedDrive } from './watched-drive.ts'

/** Bodies up to this size are kept whole in every record: shards of them would cost more than they save. In bytes. */
export const wholeBytesMax = 512
/** Largest body that is kept beside a record, before it is cut into shards. In bytes. */
export const inlineBytesMax = 128 * 1024
/** Drives that may lead one after the other between two claims. */
const epochsPerStart = 2 ** 20
/** How long the closing of a drive may take, in ticks of the watch: half a minute. */
const stopTicks = 120

export interface ErasureSetOptions {
  readonly opened: OpenedSet
  readonly codes: Codes
  /** As configured. */
  readonly reducedParityCount: number
  readonly ports: Ports
  readonly log: Logger
  readonly freshBlobs: FreshBlobs
  readonly watch: AnswerWatch
  newId(): string
  /** Told when which drives can be used has changed. */
  onMembersChanged(): void
}

export class ErasureSet implements SetView {
  readonly dataCount: number
  readonly parityCount: number
  readonly slotCount: number
  readonly unitBytes: number
  readonly writeQuorum: number
  readonly #codes: Codes
  readonly members: readonly Member[]
  #document: SetDocument
  #isDescribed = true
  readonly #options: ErasureSetOptions
  #leader: Member
  /** 0 as long as it has none. */
  #epoch = 0
  /** The last one that a write quorum has a change of. */
  #describedEpoch = 0
  /** Errors of changes that may have been made all the same, and what was staged for these. */
  readonly #doubts = new WeakSet<object>()
  #stagedInDoubt: { readonly id: string; readonly leadership: number }[] = []
  #claimingEpoch: Promise<void> | undefined
  #leadership = 0
  #rotation = 0
  #isStopping = false
  /** Records that say of a slot that it has a shard, which it lacks. */
  readonly missingShards = new MissingShards()

  constructor(options: ErasureSetOptions) {
    const { opened, codes } = options
    this.#options = options
    this.#document = opened.document
    this.members = opened.members
    this.#codes = codes
    this.parityCount = opened.document.parityCount
    this.slotCount = opened.document.slots.length
    this.dataCount = this.slotCount - this.parityCount
    this.unitBytes = opened.document.unitBytes
    this.writeQuorum = writeQuorumOf(this.dataCount, this.parityCount)
    this.#leader = opened.leader
    for (const member of this.members) if (member.isOpen) this.#noteDevice(member)
  }

  /** Of this leader: no other one has had it. 0 before one was claimed. */
  get epoch(): number {
    return this.#epoch
  }

  /** Goes up with each new leader. */
  get leadership(): number {
    return this.#leadership
  }

  /**
   * Takes an epoch that no leader has had, and makes a first change in it. Both on the write quorum: a drive that is away and has
   * changes which were never acknowledged comes after this one from now on, whatever it has. Nothing is changed before.
   */
  claimEpoch(): Promise<void> {
    if (this.#epoch !== 0) return Promise.resolve()
    this.#claimingEpoch ??= this.#claimEpoch().finally(() => {
      this.#claimingEpoch = undefined
    })
    return this.#claimingEpoch
  }

  /** What a write quorum does not have by now will never come, whichever drives come back. */
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
      throw storageErrors.unavailable(`${count} drives know who leads; ${this.writeQuorum} are needed to write.`)
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
   * An empty drive that has just been formatted takes the slot of one that is away. Where enough drives are there to write, nothing is
   * changed unless that is written down; where it takes this drive to have enough, it is written down when it has caught up. A start in
   * between finds a drive that nobody knows, as after any other replacement, and gives it the same slot and generation.
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

  /** The drives have the description as it is, as far as they are there. */
  get isDescribed(): boolean {
    return this.#isDescribed
  }

  /** Writes the description of the set to its drives. */
  async describe(): Promise<void> {
    this.#isDescribed = true
    const args: DescribeArgs = { document: encodeSetDocument(this.document), epoch: this.#epoch }
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

  /** It has them. */
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
    this.#requireQuorum()
    if (this.#epoch === 0) await this.claimEpoch()
    if (body !== undefined && body.length > inlineBytesMax) throw storageErrors.body_too_large()
    const isSharded = body !== undefined && body.length > wholeBytesMax
    const staged = isSharded ? await this.#stage(body, this.parityOf(redundancy)) : undefined
    const { leadership } = this
    try {
      const run: RunArgs = { name, args, body, staged, epoch: this.#epoch, slot: this.leader().slot }
      return await this.#lead(procedure.run, run, staged && quorumOf(staged.head))
    } catch (error) {
      // What may have been made may be found again, on the drive that led: its shards have to be there then.
      if (staged !== undefined && this.#doubts.has(error as object))
        this.#stagedInDoubt.push({ id: staged.id, leadership })
      else if (staged !== undefined) this.#unstage([staged.id])
      throw error
    }
  }

  #requireQuorum(): void {
    if (this.#isStopping) throw storageErrors.unavailable('The set is being closed.')
    const count = this.currentCount
    if (count >= this.writeQuorum) return
    throw storageErrors.unavailable(
      `${count} of ${this.slotCount} drives have all records; ${this.writeQuorum} are needed to write.`,
    )
  }

  /** Gives each drive its shard of a body. */
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

  /** What is left of it where this fails goes when the drive is opened again. */
  #unstage(ids: readonly string[]): void {
    if (ids.length === 0) return
    for (const { takesWrites, drive } of this.members) {
      if (takesWrites) drive.execute(procedure.unstage, ids).catch(() => undefined)
    }
  }

  /**
   * Runs a procedure on the leader and gives what it changed to the others. Continuations of the leader's answers run in the order of
   * its commits; the others are handed the change there and then, so that they have the same order.
   */
  #lead(name: string, args: unknown, quorum = this.writeQuorum): Promise<unknown> {
    const leader = this.leader()
    return leader.drive.execute<RunResult>(name, args).then(
      ({ result, change }) => (change === undefined ? result : this.#spread(change, leader, result, quorum)),
      error => {
        if (error instanceof Refusal) throw error.cause
        if (!isDriveFailure(error)) throw error
        this.#failMember(leader, error)
        throw this.#doubtful('The drive that leads has failed; whether the change was made is not known.', error)
      },
    )
  }

  /** Called in the order of changes, and calls each drive at once. */
  async #spread(change: Change, leader: Member, result: unknown, quorum: number): Promise<unknown> {
    // The others already follow another one, and have what they were given before that.
    if (leader !== this.#leader)
      throw this.#doubtful('The drive that led has failed; the change may be found later all the same.')
    const answers: Promise<boolean>[] = []
    for (const member of this.members) {
      if (member !== leader && member.takesWrites) answers.push(this.#apply(change, member))
    }
    // It leads: it has the change.
    let count = 1
    for (const isCounted of await Promise.all(answers)) if (isCounted) count++
    if (count >= quorum) return result
    throw this.#doubtful(`The change is on ${count} drives; ${quorum} are needed. It may be found later all the same.`)
  }

  #doubtful(message: string, cause?: unknown): Error {
    const error = storageErrors.unavailable(message, { cause })
    this.#doubts.add(error)
    return error
  }

  /** Whether the drive counts as having the change, and all before it. */
  #apply(change: Change, member: Member): Promise<boolean> {
    const isCatchingUp = member.state === 'behind'
    const { slot, generation } = member
    return member.drive.execute<ShardNote[]>(procedure.apply, { ...change, slot, generation, isCatchingUp }).then(
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

  /** What records are at this point of the order of changes; `then` is called before any later change is given to the drives. */
  show(keys: readonly Buffer[], then: (shown: ShowResult) => void): Promise<void> {
    const leader = this.leader()
    return leader.drive.execute<ShowResult>(procedure.show, keys).then(then, error => {
      this.onDriveError(leader.slot, error)
      throw error
    })
  }

  /** Resolves with how many of the records were still what they had been. */
  async mark(marks: readonly Mark[]): Promise<number> {
    if (this.#epoch === 0) await this.claimEpoch()
    const args = { marks, epoch: this.#epoch, slot: this.leader().slot }
    return (await this.#lead(procedure.mark, args)) as MarkResult['result']
  }

  onDriveError(slot: number, error: unknown): void {
    if (isDriveFailure(error)) this.#failMember(this.members[slot]!, error)
  }

  /** It lacks a change, whatever the reason. */
  onLost(member: Member, error: unknown): void {
    this.#failMember(member, error)
  }

  /** It does not answer: what it owes is not waited for any more. */
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
    // Also what it would still answer comes too late: it counts as lacking everything from now on.
    member.drive.answers.suspend(error)
    log.error({ err: error, path: member.path, slot: member.slot }, 'a drive of the set has failed')
    if (member === this.#leader) this.#chooseLeader()
    this.#options.onMembersChanged()
  }

  /** Every current drive has been given the same changes: any of them will do, and best the one that keeps nobody waiting. */
  #chooseLeader(): void {
    const owing = ({ drive }: Member) => drive.answers.oldest?.serial ?? Number.POSITIVE_INFINITY
    const next = this.members
      .filter(({ state }) => state === 'current')
      .reduce<Member | undefined>((best, each) => (best && owing(best) >= owing(each) ? best : each), undefined)
    if (next === undefined) {
      this.#options.log.error('no drive of the set has all of its records: nothing can be read or written')
      return
    }
    this.#leader = next
    this.#leadership++
    if (this.#epoch !== 0) {
      this.#epoch++
      // What the one that failed has made alone is over, also if it is found again.
      const { leadership } = this
      this.describe().then(
        () => this.#resolveDoubts(leadership),
        error => this.#options.log.warn({ err: error }, 'a new leader could not say so'),
      )
    }
    this.#options.log.warn({ path: next.path }, 'another drive leads')
  }

  /** What former leaders have made alone will not come back. */
  #resolveDoubts(leadership: number): void {
    const isResolved = (doubt: { readonly leadership: number }) => doubt.leadership < leadership
    this.#unstage(this.#stagedInDoubt.filter(isResolved).map(({ id }) => id))
    this.#stagedInDoubt = this.#stagedInDoubt.filter(doubt => !isResolved(doubt))
  }

  /** A drive has got everything; to be called in the continuation of the `show` that said so. */
  onCaughtUp(member: Member): void {
    member.state = 'current'
    member.error = undefined
    if (this.#leader.state !== 'current') this.#chooseLeader()
    if (this.isWhole) {
      this.#options.log.info(
        { drives: this.slotCount },
        'all drives of the set have all records; shards that are lacking are made anew',
      )
    }
    this.#options.onMembersChanged()
  }

  /**
   * No drive has all records, so none can be caught up with: as at a start, the one that has come furthest leads, if enough have
   * come back. `progress` is what each of them says.
   */
  reelect(candidates: readonly (Candidate & { readonly member: Member })[]): boolean {
    if (this.currentCount > 0 || candidates.length < this.dataCount) return false
    const best = candidates.reduce((a, b) => (compareCandidates(b, a) > 0 ? b : a))
    this.#epoch = 0
    this.#leadership++
    best.member.state = 'current'
    best.member.error = undefined
    this.#leader = best.member
    this.#options.onMembersChanged()
    return true
  }

  /** A drive that was away answers again: it has been opened, or it never was closed. */
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
    this.#options.onMembersChanged()
  }

  #noteDevice(member: Member): void {
    member.device = undefined
    this.#options.ports.disk.deviceOf?.(member.path).then(
      device => {
        member.device = device
      },
      // It is found out by whoever asks the drive next.
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
        // Who looks for the disk that is away wants to know which it is.
        const id = status.id === '' ? this.#document.slots[member.slot]!.driveId : status.id
        return { index: member.index, status: { ...status, id, place: this.#placeOf(member) } }
      }),
    )
    return statuses.sort((a, b) => a.index - b.index).map(({ status }) => status)
  }

  #placeOf({ slot, state, isRebuilding }: Member): DrivePlace {
    const { parityCount, dataCount, writeQuorum } = this
    const isHealing = state === 'behind' || (state === 'current' && isRebuilding)
    const quorums = { readQuorum: dataCount, writeQuorum }
    return { pool: 0, set: 0, slot, parityCount, ...quorums, isCurrent: state === 'current', isHealing }
  }

  /** A drive that does not answer is not waited for: whatever it does ends with the process. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const { log, watch } = this.#options
    const stopping = this.members
      .filter(({ isOpen }) => isOpen)
      .map(async ({ drive, path }) => {
        const stopped = drive.stop()
        if (await isDoneIn(stopped, watch, drive.answers.unansweredCount > 0 ? 0 : stopTicks)) return
        drive.answers.suspend(storageErrors.unavailable('The set is being closed.'))
        log.error({ path }, 'a drive does not answer; it is left as it is, and its journal read at the next start')
        stopped.catch(() => undefined)
      })
    await Promise.all(stopping)
  }
}

/** The greatest epoch of any leader that a drive has heard of. */
async function epochKnownTo(drive: WatchedDrive): Promise<number> {
  const promised = await drive.get(promiseKey)
  const progress = await drive.get(progressKey)
  return Math.max(
    promised === undefined ? 0 : decodeEpoch(promised.value),
    progress === undefined ? 0 : decodeProgress(progress.value).epoch,
  )
}

/** Never less than the write quorum of the set: less parity is more data shards. */
function quorumOf({ dataCount, parityCount }: Pick<RecordHead, 'dataCount' | 'parityCount'>): number {
  return writeQuorumOf(dataCount, parityCount)
}

/** Views of the body; the last data shards are copies, filled up with zeros. Parity shards have memory of their own. */
function split(body: Uint8Array, unit: number, dataCount: number, slotCount: number): Uint8Array[] {
  return Array.from({ length: slotCount }, (_, shard) => {
    const start = shard * unit
    if (shard < dataCount && start + unit <= body.length) return body.subarray(start, start + unit)
    const bytes = Buffer.alloc(unit)
    if (shard < dataCount && start < body.length) bytes.set(body.subarray(start))
    return bytes
  })
}

/** Whether an error says that the drive cannot be used any more. */
function isDriveFailure(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'faulty' || code === 'unavailable' || (typeof code === 'string' && /^E[A-Z]/.test(code))
}

function isFull(drive: WatchedDrive): boolean {
  const statuses = drive.drives()
  return !(statuses instanceof Promise) && statuses.some(({ state }) => state === 'full')
}
