/**
 * Gives the space of dead records back. A segment that is mostly dead is read from its beginning to its end; what is still
 * current is written again at the tail, through the commit queue, so that it competes with nobody under the lock for longer
 * than a small transaction takes. Then the file is deleted.
 *
 * What makes a segment's deletion safe:
 *
 * - A put is moved only while its record still comes from that very entry; the check is made under the lock.
 * - A body whose record has meanwhile another key (`bodyOf`) is found through its forwarding entry.
 * - A delete is carried on as long as an older segment may hold a put of its key: without it, a rebuild of the index would
 *   bring the record back.
 * - The count of live bytes, kept exact by every commit, must have come down to zero.
 * - The index no longer needs the segment and says so on stable storage, even if the power fails in the next moment.
 * - Whoever got a record before it moved has had `readWindowMs` to read its body. Other segments are compacted meanwhile.
 *
 * On a full drive only what fits into the free space is moved, and none of the space that is kept for deletes is used.
 *
 * Of a segment that does not verify, what is current is found through the index (`journal-rescue.ts`). It stays while a body of it
 * cannot be read otherwise, or deletes in it are needed that nobody knows; what is damaged is an error for those who read it.
 */
import { crc32 } from 'node:zlib'
import type { Clock, Disk, Logger } from 'svc/kernel'
import type { BodyRef } from 'svc/plugins/storage/api'
import type { BodyReader } from './body-reader.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { Engine } from './engine.ts'
import type { Journal } from './journal.ts'
import { type DeleteEntry, type PutEntry, readTransactions } from './journal-format.ts'
import { readSegment, type SegmentBatch, SegmentDamage } from './journal-reader.ts'
import { isSameBody, rescueSegment } from './journal-rescue.ts'
import { isOutOfSpace } from './space.ts'
import { type DriveState, locationText } from './state.ts'
import { storedBody, storedEntry } from './stored-record.ts'
import type { DriveTransaction } from './transaction.ts'

/** Share of a segment that must be dead; on a full drive less will do. */
const deadShareMin = 0.5
const deadShareMinWhenFull = 0.1
/** Share of the journal that deletes may take up while an old segment keeps them alive; then that one is compacted. */
const tombstoneShareMax = 0.2
/** How long after a rescue that has failed it is tried again. */
const rescueAgainMs = 3_600_000
/** What is moved in one transaction: small, so that clients' commits do not wait for it. */
const moveBytesMax = 256 * 1024
/** Source batches that are kept in memory until a transaction is full: a small one would be padded to 4 KiB again. */
const bufferedBytesMax = 4 * 1024 * 1024

export interface CompactionOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly log: Logger
  readonly journal: Journal
  readonly journalKey: Buffer
  readonly state: DriveState
  readonly checkpoints: Checkpoints
  readonly engine: Engine
  readonly bodies: BodyReader
  /** Bytes read or written in a second; 0 turns compaction off. */
  readonly bytesPerSecond: number
  readonly readWindowMs: number
  isFull(): boolean
  /** Of the file system, as of the last look. */
  freeBytes(): number
  onSegmentRemoved(segment: number): void
}

/** One change to make under the lock. */
type Move = (tx: DriveTransaction) => void

/** What is moved next, from several batches. */
interface Gathered {
  moves: Move[]
  /** What the moves write. */
  bytes: number
  /** What they keep in memory. */
  bufferedBytes: number
}

export class Compaction {
  readonly #options: CompactionOptions
  /** Segments that did not verify, and when what they have is to be written again: not before the next look at them, mostly. */
  readonly #damaged = new Map<number, { rescueMs: number; readonly isHeader: boolean }>()
  get segmentsDamaged(): number {
    return this.#damaged.size
  }

  /** Segments that nothing needs any more but readers, by the millisecond in which they may go. */
  readonly #retired = new Map<number, number>()
  segmentsRemoved = 0
  bytesMoved = 0
  current: number | undefined

  constructor(options: CompactionOptions) {
    this.#options = options
  }

  /** Compacts one segment, if any is worth it. */
  async work(signal: AbortSignal): Promise<'more' | 'idle'> {
    const { engine, checkpoints, bytesPerSecond } = this.#options
    if (bytesPerSecond === 0 || engine.fault !== undefined) return 'idle'
    const hasRemoved = await this.#removeRetired()
    const segment = checkpoints.isStuck ? undefined : this.pick()
    if (segment === undefined) return hasRemoved ? 'more' : 'idle'
    this.current = segment
    try {
      if (this.#isToRescue(segment)) {
        await this.#rescue(segment, signal)
        return 'more'
      }
      return (await this.#compact(segment, signal)) ? 'more' : 'idle'
    } catch (error) {
      // Nothing has been lost but time; deletes come first.
      if (!isFullError(error) && !checkpoints.isStuck) throw error
      return 'idle'
    } finally {
      this.current = undefined
    }
  }

  /** The segment that gives back most for what has to be moved. */
  pick(): number | undefined {
    const { journal, isFull } = this.#options
    for (const segment of this.#damaged.keys()) if (this.#isToRescue(segment)) return segment
    const oldest = this.#oldestKept()
    let best: number | undefined
    let bestShare = isFull() ? deadShareMinWhenFull : deadShareMin
    let journalBytes = 0
    let tombstoneBytes = 0
    for (const [segment, size] of journal.segments) {
      journalBytes += size
      tombstoneBytes += this.#neededTombstoneBytes(segment, oldest)
      if (!this.#isCandidate(segment, oldest)) continue
      const deadShare = 1 - this.#neededBytes(segment, oldest) / size
      if (deadShare >= bestShare) {
        best = segment
        bestShare = deadShare
      }
    }
    const isOldestInTheWay = best === undefined && tombstoneBytes > journalBytes * tombstoneShareMax
    return isOldestInTheWay && this.#isCandidate(oldest, oldest) ? oldest : best
  }

  #isCandidate(segment: number, oldest: number): boolean {
    const { journal, isFull, freeBytes } = this.#options
    // The tail is written to.
    if (segment >= journal.tail.segment || this.#retired.has(segment)) return false
    if (this.#damaged.has(segment) && this.#neededBytes(segment, oldest) > 0) return false
    return !isFull() || this.#neededBytes(segment, oldest) <= freeBytes()
  }

  /** The oldest segment that will stay. The retired ones are deleted before any that is compacted later, in that order. */
  #oldestKept(): number {
    let oldest = Number.POSITIVE_INFINITY
    for (const segment of this.#options.journal.segments.keys()) {
      if (segment < oldest && !this.#retired.has(segment)) oldest = segment
    }
    return oldest
  }

  #neededBytes(segment: number, oldest: number): number {
    const liveBytes = this.#options.state.segments.get(segment)?.liveBytes ?? 0
    return liveBytes + this.#neededTombstoneBytes(segment, oldest)
  }

  /** Deletes whose put may still be found in an older segment. */
  #neededTombstoneBytes(segment: number, oldest: number): number {
    const use = this.#options.state.segments.get(segment)
    return use !== undefined && oldest < segment && oldest <= use.guard ? use.tombstoneBytes : 0
  }

  /** True when nothing needs the segment any more. */
  async #compact(segment: number, signal: AbortSignal): Promise<boolean> {
    const { state, checkpoints, log, readWindowMs } = this.#options
    const isEmpty = this.#neededBytes(segment, this.#oldestKept()) === 0
    if (!isEmpty && !(await this.#moveAll(segment, signal))) return false
    await checkpoints.flush()
    await state.index.flushed()
    const use = state.segments.get(segment)
    if (use !== undefined && use.liveBytes !== 0) {
      this.#damaged.set(segment, { rescueMs: Number.POSITIVE_INFINITY, isHeader: false })
      log.error({ segment, liveBytes: use.liveBytes }, 'a compacted segment still has live records; it is kept')
      return false
    }
    this.#retired.set(segment, this.#nowMs() + readWindowMs)
    return true
  }

  #nowMs(): number {
    return Number(this.#options.clock.monotonicNs() / 1_000_000n)
  }

  /** Deletes the retired segments whose time has come. True when there was one. */
  async #removeRetired(): Promise<boolean> {
    const { state, journal, log, bodies, onSegmentRemoved } = this.#options
    let hasRemoved = false
    for (const [segment, dueMs] of this.#retired) {
      if (this.#nowMs() < dueMs) break
      await journal.removeSegment(segment)
      this.#retired.delete(segment)
      this.#damaged.delete(segment)
      state.forgetSegment(segment)
      bodies.forget(segment)
      onSegmentRemoved(segment)
      this.segmentsRemoved++
      hasRemoved = true
      log.debug({ segment }, 'compacted a journal segment')
    }
    return hasRemoved
  }

  async #moveAll(segment: number, signal: AbortSignal): Promise<boolean> {
    const { clock, bytesPerSecond } = this.#options
    const gathered: Gathered = { moves: [], bytes: 0, bufferedBytes: 0 }
    try {
      for await (const batch of readSegment(this.#options, segment)) {
        if (signal.aborted) return false
        // The reader's window is used again by the next read, and moves wait for their turn.
        const bytes = Buffer.from(batch.bytes)
        const moved = await this.#moveBatch(segment, { ...batch, bytes }, gathered)
        const pauseMs = ((bytes.length + moved) * 1000) / bytesPerSecond
        if (pauseMs >= 1) await pause(clock, pauseMs)
      }
    } catch (error) {
      if (!(error instanceof SegmentDamage)) throw error
      this.onDamaged(segment, error)
      return false
    }
    await this.#commit(gathered)
    return true
  }

  /** It does not verify: what it has that counts is written again at the tail, as far as it is known otherwise. */
  onDamaged(segment: number, { offset, message }: SegmentDamage): void {
    // It may have gone, or be about to, while it was read.
    const isKept = this.#options.journal.segments.has(segment) && !this.#retired.has(segment)
    if (!isKept || this.#damaged.has(segment)) return
    this.#damaged.set(segment, { rescueMs: 0, isHeader: offset === 0 })
    this.#options.log.error({ segment, offset, reason: message }, 'a journal segment is damaged')
  }

  /** A sentence; undefined where every segment that is kept can be read, as far as is known. */
  get problem(): string | undefined {
    const count = this.#damaged.size
    if (count === 0) return undefined
    const ofHeaders = [...this.#damaged.values()].some(({ isHeader }) => isHeader)
    return (
      `${count} segments of the journal are damaged: should the index be lost, it could not be built again from them.` +
      (ofHeaders ? ' The next start may refuse the drive: look at the disk before a restart.' : '')
    )
  }

  isDamaged(segment: number): boolean {
    return this.#damaged.has(segment)
  }

  /** What could not be read may have been put again since. */
  rescueAgain(segment: number): void {
    const damage = this.#damaged.get(segment)
    if (damage !== undefined) damage.rescueMs = 0
  }

  #isToRescue(segment: number): boolean {
    const damage = this.#damaged.get(segment)
    return damage !== undefined && damage.rescueMs <= this.#nowMs()
  }

  async #rescue(segment: number, signal: AbortSignal): Promise<void> {
    const { log } = this.#options
    const damage = this.#damaged.get(segment)!
    // Where it fails, for want of room for example: all records are looked at each time.
    damage.rescueMs = this.#nowMs() + rescueAgainMs
    const rescued = await rescueSegment(this.#options, segment, signal)
    if (rescued === undefined) return
    damage.rescueMs = Number.POSITIVE_INFINITY
    const { moved, unreadable } = rescued
    if (unreadable > 0) log.error({ segment, moved, unreadable }, 'bodies in a damaged journal segment cannot be read')
    else if (moved > 0) log.warn({ segment, moved }, 'what a damaged journal segment had was written again')
  }

  /** Moves what is current. Resolves with the bytes moved. Throws `SegmentDamage` when a body does not verify. */
  async #moveBatch(segment: number, { offset, bytes, header }: SegmentBatch, gathered: Gathered): Promise<number> {
    let total = 0
    for (const { sequence, entries } of readTransactions(bytes, header, segment)) {
      for (const entry of entries) {
        const found =
          entry.kind === 'put'
            ? this.#movePut(segment, sequence, entry, entry.body && bodyBytes(bytes, offset, entry.body))
            : this.#moveDelete(entry)
        if (found === 'damaged') throw new SegmentDamage(offset, 'a body does not match its checksum')
        if (found === undefined) continue
        gathered.moves.push(found.move)
        gathered.bytes += found.bytes
        total += found.bytes
        if (gathered.bytes >= moveBytesMax) await this.#commit(gathered)
      }
    }
    if (gathered.moves.length > 0) gathered.bufferedBytes += bytes.length
    if (gathered.bufferedBytes >= bufferedBytesMax) await this.#commit(gathered)
    return total
  }

  async #commit(gathered: Gathered): Promise<void> {
    const { moves, bytes } = gathered
    gathered.moves = []
    gathered.bytes = 0
    gathered.bufferedBytes = 0
    if (moves.length === 0) return
    await this.#options.engine.runInBackground(tx => {
      for (const move of moves) move(tx)
    })
    this.bytesMoved += bytes
  }

  #movePut(
    segment: number,
    sequence: number,
    entry: PutEntry,
    body: Buffer | undefined,
  ): { move: Move; bytes: number } | 'damaged' | undefined {
    const { state } = this.#options
    const { key } = entry
    // As readers see it: what is not durable yet may be taken back. The move itself looks again, under the lock.
    const stored = state.visible(key.latin1Slice(), key)
    const isEntry = (current: Buffer) => {
      const from = storedEntry(current)
      return from.segment === segment && from.sequence === sequence
    }
    const ownBody = entry.bodyMoved ? undefined : entry.body
    const isLive = stored !== undefined && isEntry(stored)
    if (ownBody === undefined) {
      if (!isLive) return undefined
      const move: Move = tx => {
        tx.rewrite(key, isEntry, undefined)
      }
      return { move, bytes: entry.bytes }
    }
    // A transaction may have put the same key twice: the body tells its entries apart.
    const isEntryWithBody = (current: Buffer) => isEntry(current) && isSameBody(storedBody(current), ownBody)
    const location = locationText(segment, ownBody.offset)
    if (!isLive && state.visibleForward(location) === undefined) return undefined
    if (crc32(body!) !== ownBody.check) return 'damaged'
    const move: Move = tx => {
      if (tx.rewrite(key, isEntryWithBody, body)) return
      // Another record may have taken the body over, even since we looked.
      const owner = state.newestForward(location)
      if (owner !== undefined) {
        tx.rewrite(Buffer.from(owner, 'latin1'), current => isSameBody(storedBody(current), ownBody), body)
      }
    }
    return { move, bytes: entry.bytes + ownBody.size }
  }

  #moveDelete(entry: DeleteEntry): { move: Move; bytes: number } | undefined {
    const { state } = this.#options
    // What the compacted segment itself holds goes with it; only older ones count. It is the oldest, or it is not.
    const oldest = this.#oldestKept()
    if (oldest > entry.guard || oldest === this.current) return undefined
    if (state.visible(entry.key.latin1Slice(), entry.key) !== undefined) return undefined
    return { move: tx => tx.carryTombstone(entry.key, entry.guard), bytes: entry.bytes }
  }
}

function isFullError(error: unknown): boolean {
  return isOutOfSpace(error) || (error as { code?: string }).code === 'full'
}

function bodyBytes(batch: Buffer, offset: number, body: BodyRef): Buffer {
  const start = body.offset - offset
  return batch.subarray(start, start + body.size)
}

function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise(resolve => {
    clock.after(delayMs, resolve)
  })
}
