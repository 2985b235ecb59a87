/**
 * Compaction: gives the space of dead records in the journal back to the file system. It reads a mostly dead segment from
 * beginning to end, writes the records that are still current again at the tail, and deletes the file. The moves go through the
 * commit queue in small transactions, so clients' commits wait at most for one of those. `background.ts` calls `work` in a loop.
 *
 * These rules make the deletion of a segment's file safe:
 *
 * - A put is moved only if its record still comes from that very entry, which is checked under the commit lock.
 * - A body that another record has taken over by now (`bodyOf`) is found through the entry of that record if it is in the same segment, as that of a
 *   staged shard is, and through a forwarding entry if it is not.
 * - A delete is written again as long as an older segment may have a put of its key. Without it, a rebuild of the index would
 *   bring the record back.
 * - The file is deleted only if the segment's count of live bytes, which every commit keeps exact, is zero.
 * - The index has recorded all of this on stable storage, so that a power loss right after the deletion does no harm.
 * - Readers that got a record before it moved have had `readWindowMs` to read its body. Other segments are compacted meanwhile.
 *
 * On a full drive only a segment whose live bytes fit into the free space is compacted, and compaction uses none of the space
 * reserved for deletes.
 *
 * A segment that does not verify is rescued: its current records are found through the index and written again
 * (`journal-rescue.ts`). Its file stays while it has a body that is unreadable elsewhere, or deletes that may still be needed.
 * Reading damaged data from it is an error.
 */
import { crc32 } from '@node-rs/crc32'
import type { Clock, Logger } from 'svc/kernel'
import type { BodyRef } from 'svc/plugins/storage/api'
import type { BodyReader } from './body-reader.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { Disk } from './disk.ts'
import type { Engine } from './engine.ts'
import type { Journal } from './journal.ts'
import { type DeleteEntry, type PutEntry, readTransactions } from './journal-format.ts'
import { readSegment, type SegmentBatch, SegmentDamage } from './journal-reader.ts'
import { isSameBody, readable, rescueSegment } from './journal-rescue.ts'
import { isOutOfSpace } from './space.ts'
import { type DriveState, locationText } from './state.ts'
import { storedBody, storedEntry } from './stored-record.ts'
import type { DriveTransaction } from './transaction.ts'

/** The dead share from which a segment is compacted; lower on a full drive. */
const deadShareMin = 0.5
const deadShareMinWhenFull = 0.1
/** When needed deletes exceed this share of the journal, the oldest segment, which they guard against, is compacted. */
const tombstoneShareMax = 0.2
/** Pause before a failed rescue is tried again. */
const rescueAgainMs = 3_600_000
/** Bytes moved per transaction; small, so that clients' commits do not wait long. */
const moveBytesMax = 256 * 1024
/**
 * Bytes of source batches kept in memory until a transaction is full. Smaller transactions would waste space, because each batch is padded to 4 KiB.
 */
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
  /** Bytes read and written per second; 0 turns compaction off. */
  readonly bytesPerSecond: number
  readonly readWindowMs: number
  isFull(): boolean
  /** Whether the drive is not where it was. */
  isAway(): boolean
  /** Free bytes of the file system at the last measurement. */
  freeBytes(): number
  onSegmentRemoved(segment: number): void
}

/** One change to make under the lock. */
type Move = (tx: DriveTransaction) => void

/** What an entry is moved by. */
interface Found {
  move(tx: DriveTransaction, body: Buffer | undefined): void
  /** Bytes that the move writes. */
  readonly bytes: number
  /** The body in this segment that the move needs. */
  readonly ownBody: BodyRef | undefined
}

/** The next transaction, gathered from several batches. */
interface Gathered {
  moves: Move[]
  /** Bytes that the moves write. */
  bytes: number
  /** Bytes of source batches that the moves keep in memory. */
  bufferedBytes: number
}

export class Compaction {
  readonly #options: CompactionOptions
  /** Damaged segments, with the monotonic time of their next rescue (infinity: not before new information arrives). */
  readonly #damaged = new Map<number, { rescueMs: number; readonly isHeader: boolean }>()
  get segmentsDamaged(): number {
    return this.#damaged.size
  }

  /** Segments that only readers may still need, with the monotonic time of their deletion. */
  readonly #retired = new Map<number, number>()
  segmentsRemoved = 0
  bytesMoved = 0
  current: number | undefined

  constructor(options: CompactionOptions) {
    this.#options = options
  }

  /** Compacts one segment, if one is worth it. */
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
      // The space is needed for deletes first; this segment is tried again later.
      if (!isFullError(error) && !checkpoints.isStuck) throw error
      return 'idle'
    } finally {
      this.current = undefined
    }
  }

  /**
   * The segment to work on: a damaged one that is due for a rescue; else the one with the largest dead share, if that is large enough; else the
   * oldest, if needed deletes fill too much of the journal.
   */
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
    // The tail is still being written.
    if (segment >= journal.tail.segment || this.#retired.has(segment)) return false
    if (this.#damaged.has(segment) && this.#neededBytes(segment, oldest) > 0) return false
    return !isFull() || this.#neededBytes(segment, oldest) <= freeBytes()
  }

  /**
   * The oldest segment that is not retired. Retired segments are deleted in order, before any segment that is compacted later.
   */
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

  /** Bytes of deletes whose put may still be in an older segment. */
  #neededTombstoneBytes(segment: number, oldest: number): number {
    const use = this.#options.state.segments.get(segment)
    return use !== undefined && oldest < segment && oldest <= use.guard ? use.tombstoneBytes : 0
  }

  /** True when the segment has been retired. */
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

  /** Deletes retired segments whose read window is over. True when there was one. */
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
        // The next read reuses the reader's window, while the moves are still waiting.
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

  /** Records that a segment does not verify, so that it will be rescued. */
  onDamaged(segment: number, { offset, message }: SegmentDamage): void {
    // The segment may have been removed or retired while it was being read.
    const isKept = this.#options.journal.segments.has(segment) && !this.#retired.has(segment)
    // Nothing can be said of it while the drive is not where it was.
    if (!isKept || this.#damaged.has(segment) || this.#options.isAway()) return
    this.#damaged.set(segment, { rescueMs: 0, isHeader: offset === 0 })
    this.#options.log.error({ segment, offset, reason: message }, 'a journal segment is damaged')
  }

  /** One sentence for the drive's status; undefined when no damaged segment is known. */
  get problem(): string | undefined {
    const count = this.#damaged.size
    if (count === 0) return undefined
    const ofHeaders = [...this.#damaged.values()].some(({ isHeader }) => isHeader)
    return (
      `${count} segments of the journal are damaged: if the index is lost too, it cannot be rebuilt from them.` +
      (ofHeaders ? ' The next start may refuse the drive: check the disk before a restart.' : '')
    )
  }

  isDamaged(segment: number): boolean {
    return this.#damaged.has(segment)
  }

  /** Schedules a new rescue: unreadable data may have been written again since. */
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
    // Set first, for a rescue that fails, e.g. for lack of space: each attempt scans all records.
    damage.rescueMs = this.#nowMs() + rescueAgainMs
    const rescued = await rescueSegment(this.#options, segment, signal)
    if (rescued === undefined) return
    damage.rescueMs = Number.POSITIVE_INFINITY
    const { moved, unreadable } = rescued
    if (unreadable > 0)
      log.error(
        { segment, moved, unreadable },
        'bodies in a damaged journal segment cannot be read; their objects must be uploaded again, healed or deleted',
      )
    else if (moved > 0)
      log.warn({ segment, moved }, 'the intact records of a damaged journal segment have been written again')
  }

  /**
   * Gathers the moves of a batch's current records. Resolves with the bytes moved. Throws `SegmentDamage` when a body does not
   * verify.
   */
  async #moveBatch(segment: number, { offset, bytes, header }: SegmentBatch, gathered: Gathered): Promise<number> {
    let total = 0
    for (const { sequence, entries } of readTransactions(bytes, header, segment)) {
      for (const entry of entries) {
        const found = entry.kind === 'put' ? this.#movePut(segment, sequence, entry) : this.#moveDelete(entry)
        if (found === undefined) continue
        const { ownBody, bytes: movedBytes } = found
        const body = ownBody && (bodyIn(bytes, offset, ownBody) ?? (await this.#readBody(ownBody)))
        if (ownBody !== undefined && (body === undefined || crc32(body) !== ownBody.check)) {
          throw new SegmentDamage(offset, 'a body does not match its checksum')
        }
        gathered.moves.push(tx => found.move(tx, body))
        gathered.bytes += movedBytes
        total += movedBytes
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

  /** Undefined if neither the entry nor a body in this segment is needed any more. */
  #movePut(segment: number, sequence: number, { key, body, bytes }: PutEntry): Found | undefined {
    const { state } = this.#options
    // The state that readers see: a change that is not durable may still be rolled back. The move checks again under the lock.
    const stored = state.visible(key.latin1Slice(), key)
    const isEntry = (current: Buffer) => {
      const from = storedEntry(current)
      return from.segment === segment && from.sequence === sequence
    }
    const ownBody = body?.segment === segment ? body : undefined
    const isLive = stored !== undefined && isEntry(stored)
    if (ownBody === undefined) {
      if (!isLive) return undefined
      const move = (tx: DriveTransaction) => {
        tx.rewrite(key, isEntry, undefined)
      }
      return { move, bytes, ownBody }
    }
    // One transaction may have put the key twice; the body tells the two entries apart.
    const isEntryWithBody = (current: Buffer) => isEntry(current) && isSameBody(storedBody(current), ownBody)
    const location = locationText(segment, ownBody.offset)
    if (!isLive && state.visibleForward(location) === undefined) return undefined
    const move = (tx: DriveTransaction, moved: Buffer | undefined) => {
      if (tx.rewrite(key, isEntryWithBody, moved)) return
      // Another record may have taken over the body, even since the check above.
      const owner = state.newestForward(location)
      if (owner !== undefined) {
        tx.rewrite(Buffer.from(owner, 'latin1'), current => isSameBody(storedBody(current), ownBody), moved)
      }
    }
    return { move, bytes: bytes + ownBody.size, ownBody }
  }

  /** A body of the segment that lies before the batch at hand; undefined when it is unreadable. */
  #readBody(body: BodyRef): Promise<Buffer | undefined> {
    return readable(() => this.#options.bodies.readUncached(body))
  }

  #moveDelete(entry: DeleteEntry): Found | undefined {
    const { state } = this.#options
    // Puts in the compacted segment itself vanish with it, so only older segments count.
    const oldest = this.#oldestKept()
    if (oldest > entry.guard || oldest === this.current) return undefined
    if (state.visible(entry.key.latin1Slice(), entry.key) !== undefined) return undefined
    const move = (tx: DriveTransaction) => tx.carryTombstone(entry.key, entry.guard)
    return { move, bytes: entry.bytes, ownBody: undefined }
  }
}

function isFullError(error: unknown): boolean {
  return isOutOfSpace(error) || (error as { code?: string }).code === 'full'
}

/** The body in a batch that begins at `offset`; undefined if it lies before that. */
function bodyIn(batch: Buffer, offset: number, body: BodyRef): Buffer | undefined {
  const start = body.offset - offset
  return start < 0 ? undefined : batch.subarray(start, start + body.size)
}

function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise(resolve => {
    clock.after(delayMs, resolve)
  })
}
