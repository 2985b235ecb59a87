/**
 * The journal's files: the existing segments, the tail, and the write and sync of each batch. `Engine` appends, `recovery.ts` sets
 * the tail at start, `Compaction` removes segments.
 *
 * Invariants:
 * - The caller writes one batch at a time. Segments are numbered from 1. What is acknowledged is never overwritten: a segment only grows
 *   behind its last acknowledged batch; a batch that failed is cut off, and its place, or the number of its new segment, is used again.
 * - A batch that does not fit starts the next segment. The segment's header is synced before the batch is written, so a header
 *   that does not verify belongs to a segment without acknowledged batches, or is damage.
 * - Nothing is written after the drive's lock is lost, or the segment has lost its name (`DriveLock.loss`).
 * - The next segment is zeroed ahead of time while the drive is idle, and its beginning also while it is busy. A write into zeroed
 *   space changes no file metadata, which makes it about a third faster. When other software has taken the last byte, the journal
 *   moves on to that segment before the current one is used up (`moveOn`), so that deletes find space that nobody can take.
 */
import type { Logger } from 'svc/kernel'
import { alignUp, allocateAligned, blockBytes } from './aligned-memory.ts'
import type { Batch } from './batch.ts'
import type { Disk, DiskFile } from './disk.ts'
import { firstPosition, type JournalPosition } from './index-position.ts'
import { encodeSegmentHeader, sealBatch, segmentHeaderBytes, segmentSalt } from './journal-format.ts'
import type { DriveLock } from './lock.ts'
import type { Place } from './place.ts'

export interface JournalOptions {
  readonly disk: Disk
  readonly log: Logger
  readonly lock: DriveLock
  /** The journal folder. */
  readonly place: Place
  readonly driveId: Buffer
  readonly journalKey: Buffer
  readonly segmentBytes: number
  /** A batch is sealed at this size. A segment takes a batch only if this much space is left in it. */
  readonly batchBytes: number
  readonly direct: boolean
  /** Zero the next segment ahead of time. */
  readonly prepare: boolean
  /** Called with the number of bytes of each write. */
  onWritten(bytes: number): void
}

export interface BatchPlace {
  readonly segment: number
  readonly offset: number
}

/** Segments are zeroed in steps of this size. */
const prepareStepBytes = 1024 * 1024
/** This share of the next segment is zeroed also while the drive is busy: by default 4 MiB, enough for a thousand deletes one by one. */
const reservedShare = 1 / 16

export function segmentName(segment: number): string {
  return String(segment).padStart(10, '0')
}

export class Journal {
  readonly #options: JournalOptions
  #file: DiskFile | undefined
  #fileSegment = 0
  #prepared: number | undefined
  /** The segment whose beginning is zeroed. */
  #reserved = 0
  /**
   * The segment that takes no further batch, because the next one has space that is allocated already. It stays left also if the first
   * batch of the next one fails: a power loss may bring that file back, whose header says where this segment ends.
   */
  #left = 0
  #preparing: Promise<void> | undefined
  /** A segment is being opened or removed: zeroing it now would overwrite a batch that is about to be acknowledged. */
  #isChanging = false
  #sealing: Promise<void> = Promise.resolve()
  #header: Buffer | undefined
  #salt: Buffer = Buffer.alloc(0)
  #saltSegment = 0
  readonly #removed = new Set<number>()
  /** Position behind the last durable batch. */
  tail: JournalPosition = firstPosition
  /** Existing segments that have batches, with the offset behind the last batch. */
  readonly segments = new Map<number, number>()
  /** Bytes on stable storage since the start, padding and headers included. */
  bytesWritten = 0
  batchesWritten = 0

  constructor(options: JournalOptions) {
    this.#options = options
  }

  get batchBytes(): number {
    return this.#options.batchBytes
  }

  pathOf(segment: number): string {
    return `${this.#options.place.path}/${segmentName(segment)}`
  }

  /** Continues at the tail that recovery has found. */
  resume(tail: JournalPosition): void {
    this.tail = tail
  }

  /**
   * Creates the first segment of a new drive, durably, before anything else is stored. So a drive without segments has lost them.
   */
  async create(): Promise<void> {
    const file = await this.#openSegment(1)
    await this.#writeHeader(file, 1)
    this.segments.set(1, segmentHeaderBytes)
    this.tail = { ...firstPosition, segment: 1, offset: segmentHeaderBytes }
  }

  /** The place of the batch that follows `after`, which is the end of the batch before it. */
  place(after: BatchPlace): BatchPlace {
    const fits = after.offset + this.#options.batchBytes <= this.#options.segmentBytes
    if (after.segment > 0 && after.segment !== this.#left && fits) return after
    return { segment: after.segment + 1, offset: segmentHeaderBytes }
  }

  /**
   * Writes a batch to its place and resolves when it is durable. After a rejection the journal is unchanged, except that the bytes
   * behind the tail are undefined.
   */
  async append(batch: Batch): Promise<void> {
    const loss = this.#options.lock.loss()
    if (loss !== undefined) throw loss
    const { tail } = this
    const { place, length, transactionCount, bodyBytes } = batch
    batch.seal()
    const { buffer } = batch
    const crc = sealBatch(buffer.subarray(0, length), {
      salt: this.#saltOf(place.segment),
      number: tail.batch,
      previousCrc: tail.crc,
      transactionCount,
      bodyBytes,
    })
    const padded = alignUp(length)
    buffer.fill(0, length, padded)
    const isNew = place.segment !== tail.segment
    const file = this.#fileSegment === place.segment ? this.#file! : await this.#openSegment(place.segment)
    if (isNew) await this.#writeHeader(file, place.segment)
    await file.write(buffer, 0, padded, place.offset)
    if (!file.synchronous) await file.datasync()
    const end = place.offset + padded
    // Not before the write: if it fails, the previous segment stays the last one and grows on.
    if (isNew && tail.segment !== 0) this.#seal(tail.segment, tail.offset)
    this.segments.set(place.segment, end)
    this.tail = { segment: place.segment, offset: end, batch: tail.batch + 1, crc }
    this.bytesWritten += padded
    this.#options.onWritten(padded)
    this.batchesWritten++
  }

  async #writeHeader(file: DiskFile, segment: number): Promise<void> {
    const { tail } = this
    this.#header ??= allocateAligned(segmentHeaderBytes)
    encodeSegmentHeader(
      {
        number: segment,
        driveId: this.#options.driveId,
        previousEnd: tail.offset,
        firstBatch: tail.batch,
        previousCrc: tail.crc,
      },
      this.#header,
    )
    await file.write(this.#header, 0, segmentHeaderBytes, 0)
    if (!file.synchronous) await file.datasync()
    this.bytesWritten += segmentHeaderBytes
  }

  #saltOf(segment: number): Buffer {
    if (this.#saltSegment !== segment) {
      this.#salt = segmentSalt(this.#options.journalKey, segment)
      this.#saltSegment = segment
    }
    return this.#salt
  }

  /** Reverts a batch write that failed for lack of space, so that the tail can be written again. */
  async cutBack(): Promise<void> {
    const { segment, offset } = this.tail
    if (this.#fileSegment !== 0 && this.#fileSegment !== segment) {
      // The failed batch had started a segment, which has no acknowledged batches.
      const failed = this.#fileSegment
      this.#isChanging = true
      try {
        await this.#closeFile()
        await this.#options.disk.remove(this.pathOf(failed))
        this.#reserved = 0
      } finally {
        this.#isChanging = false
      }
    } else if (this.#file !== undefined) {
      await this.#file.truncate(offset)
    }
  }

  /**
   * Lets the next batch begin the next segment if the beginning of that is allocated. The engine's space handling calls this between
   * two batches on a full file system. Resolves with false where the next segment has no space of its own.
   */
  async moveOn(): Promise<boolean> {
    const { segment } = this.tail
    await this.#preparing
    // The file tells, also after a restart.
    if ((await this.#sizeOf(segment + 1)) < this.#reservedBytes) return false
    this.#left = segment
    this.#options.log.warn(
      { segment },
      'the file system is full: the journal goes on in its next segment, which has space of its own',
    )
    return true
  }

  /** 0 if there is no such file, or it cannot be opened. */
  async #sizeOf(segment: number): Promise<number> {
    try {
      const file = await this.#options.disk.open(this.pathOf(segment), { mode: 'read' })
      return await file.size().finally(() => file.close())
    } catch {
      return 0
    }
  }

  get #reservedBytes(): number {
    return alignUp(this.#options.segmentBytes * reservedShare)
  }

  /**
   * Allocates up to `bytes` at the tail for the next batch, before other software takes the space. The engine's space handling calls
   * this between two batches on a full file system. Allocating less is no error.
   */
  async reserveSpace(bytes: number): Promise<void> {
    const { segment, offset } = this.place(this.tail)
    const end = Math.min(offset + bytes, this.#options.segmentBytes)
    if (segment !== this.tail.segment) {
      await this.#preparing
      if (this.#prepared !== segment) await this.#zero(segment, () => end)
      return
    }
    const file = this.#fileSegment === segment ? this.#file! : await this.#openSegment(segment)
    try {
      await writeZeros(file, offset, () => end)
      if (!file.synchronous) await file.datasync()
    } catch (error) {
      this.#options.log.debug({ err: error, segment }, 'could not reserve space for the journal')
    }
  }

  async #openSegment(segment: number): Promise<DiskFile> {
    const { disk, direct, lock, place } = this.#options
    this.#isChanging = true
    try {
      await this.#preparing
      await this.#closeFile()
      await place.require()
      const file = await disk.open(this.pathOf(segment), { mode: 'create', direct, synchronous: true })
      this.#file = file
      this.#fileSegment = segment
      lock.watch(this.pathOf(segment))
      // An empty file is new: somebody may have removed the prepared one.
      const wasPrepared = this.#prepared === segment && (await file.size()) > 0
      if (this.#prepared === segment) this.#prepared = undefined
      if (!wasPrepared && segment !== this.tail.segment) await disk.syncDirectory(place.path)
      return file
    } finally {
      this.#isChanging = false
    }
  }

  /** Truncates the unused zeros of a finished segment. Nobody waits: the next segment's header records where this one ends. */
  #seal(segment: number, end: number): void {
    this.#sealing = this.#sealing.then(async () => {
      try {
        await this.#cut(segment, end)
      } catch (error) {
        this.#options.log.warn({ err: error, segment }, 'could not truncate a finished journal segment to its length')
      }
    })
  }

  async #cut(segment: number, end: number): Promise<void> {
    await this.#options.place.require()
    const file = await this.#options.disk.open(this.pathOf(segment), { mode: 'write' })
    try {
      // Sync even when the size is right: an earlier truncation may not have reached the disk.
      if ((await file.size()) !== end) await file.truncate(end)
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  /** Zeroes the next segment while the drive is idle, and its beginning in any case; asks `isQuiet` again before each step. */
  prepareNext(isQuiet: () => boolean): void {
    const next = this.tail.segment + 1
    if (!this.#options.prepare || this.tail.segment === 0 || this.#preparing !== undefined || this.#prepared === next)
      return
    if (this.#fileSegment === next || this.#isChanging) return
    if (this.#reserved === next && !isQuiet()) return
    const end = () => (isQuiet() ? this.#options.segmentBytes : this.#reservedBytes)
    this.#preparing = this.#zero(next, end).finally(() => {
      this.#preparing = undefined
    })
  }

  /** Asks for the end again before each step. */
  async #zero(segment: number, end: () => number): Promise<void> {
    const { disk, direct, segmentBytes, place } = this.#options
    let file: DiskFile | undefined
    try {
      await place.require()
      file = await disk.open(this.pathOf(segment), { mode: 'create', direct })
      const at = await writeZeros(file, Math.floor((await file.size()) / blockBytes) * blockBytes, end)
      await file.datasync()
      await disk.syncDirectory(place.path)
      if (at >= this.#reservedBytes) this.#reserved = segment
      if (at >= segmentBytes) this.#prepared = segment
    } catch (error) {
      this.#options.log.debug({ err: error, segment }, 'could not prepare the next journal segment')
    } finally {
      // Nobody waits for this; on a failed disk even `close` rejects.
      await file?.close().catch(() => undefined)
    }
  }

  /** Deletes a segment. The caller guarantees that no record, body or needed tombstone is left in it. */
  async removeSegment(segment: number): Promise<void> {
    await this.#sealing
    const { disk, place } = this.#options
    await place.require()
    // The header of this segment says where the previous one ends. Without it only that file's size does.
    const end = this.segments.get(segment - 1)
    if (end !== undefined) await unlessGone(this.#cut(segment - 1, end))
    if (!this.#removed.has(segment)) {
      await unlessGone(disk.remove(this.pathOf(segment)))
      this.#removed.add(segment)
    }
    // The segment counts as present until its removal is synced: a power loss may bring it back, and its deletes must outlive it.
    await disk.syncDirectory(place.path)
    this.segments.delete(segment)
    this.#removed.delete(segment)
  }

  async #closeFile(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    this.#fileSegment = 0
    this.#options.lock.watch(undefined)
    await file?.close()
  }

  async close(): Promise<void> {
    await this.#preparing
    await this.#sealing
    await this.#closeFile()
  }
}

/** Resolves with the offset reached. */
async function writeZeros(file: DiskFile, from: number, end: () => number): Promise<number> {
  const zeros = zeroes()
  let at = from
  for (let length = end() - at; length > 0; length = end() - at) {
    const step = Math.min(prepareStepBytes, length)
    await file.write(zeros, 0, step, at)
    at += step
  }
  return at
}

let sharedZeroes: Buffer | undefined

function zeroes(): Buffer {
  sharedZeroes ??= allocateAligned(prepareStepBytes)
  return sharedZeroes
}

/** Ignores a file that somebody else has removed; `JournalCheck` reports it. */
async function unlessGone(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
