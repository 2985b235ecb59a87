/**
 * The journal's files: which segments there are, where the tail is, and how a batch gets to stable storage. One batch is
 * written at a time. Segments are numbered from 1, never reused, and only ever appended to.
 *
 * A batch that does not fit begins the next segment, whose header is made durable first: so a header that does not verify can
 * only belong to a segment without acknowledged batches, or be damage. The next segment is zeroed ahead of time in quiet moments: a write into zeroed space needs no change of file metadata and is about a third
 * faster, and the space is there when the drive is full and deletes still have to be written.
 */
import type { Disk, DiskFile, Logger } from 'svc/kernel'
import { alignUp, allocateAligned, blockBytes } from './aligned-memory.ts'
import type { Batch } from './batch.ts'
import { firstPosition, type JournalPosition } from './index-position.ts'
import { encodeSegmentHeader, sealBatch, segmentHeaderBytes, segmentSalt } from './journal-format.ts'
import type { Place } from './place.ts'

export interface JournalOptions {
  readonly disk: Disk
  readonly log: Logger
  /** The folder of the segments. */
  readonly place: Place
  readonly driveId: Buffer
  readonly journalKey: Buffer
  readonly segmentBytes: number
  /** A batch is sent off when it has this many bytes; so much must be left of the segment that it begins in. */
  readonly batchBytes: number
  readonly direct: boolean
  /** Zero the next segment ahead of time. */
  readonly prepare: boolean
  /** Told of the bytes that were written. */
  onWritten(bytes: number): void
}

export interface BatchPlace {
  readonly segment: number
  readonly offset: number
}

/** Pieces in which a segment is zeroed, and the pause between two. */
const prepareStepBytes = 1024 * 1024

export function segmentName(segment: number): string {
  return String(segment).padStart(10, '0')
}

export class Journal {
  readonly #options: JournalOptions
  #file: DiskFile | undefined
  #fileSegment = 0
  #prepared: number | undefined
  #preparing: Promise<void> | undefined
  /** A segment is being begun or taken back: preparing it now would overwrite what is about to be acknowledged. */
  #isChanging = false
  #sealing: Promise<void> = Promise.resolve()
  #header: Buffer | undefined
  #salt: Buffer = Buffer.alloc(0)
  #saltSegment = 0
  readonly #removed = new Set<number>()
  /** Position behind the last durable batch. */
  tail: JournalPosition = firstPosition
  /** Existing segments that hold batches, with their sizes up to the last batch. */
  readonly segments = new Map<number, number>()
  /** Written to stable storage since the start, padding and headers included. */
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

  /** Continues at a position that recovery has found. */
  resume(tail: JournalPosition): void {
    this.tail = tail
  }

  /**
   * Creates the first segment of a new drive. It is durable before anything is stored: so a drive without segments is one that
   * has lost them, and never one that had none.
   */
  async create(): Promise<void> {
    const file = await this.#openSegment(1)
    await this.#writeHeader(file, 1)
    this.segments.set(1, segmentHeaderBytes)
    this.tail = { ...firstPosition, segment: 1, offset: segmentHeaderBytes }
  }

  /** The place of a batch that will follow `after`, the place behind the last batch that was filled. */
  place(after: BatchPlace): BatchPlace {
    if (after.segment > 0 && after.offset + this.#options.batchBytes <= this.#options.segmentBytes) return after
    return { segment: after.segment + 1, offset: segmentHeaderBytes }
  }

  /**
   * Writes a batch to its place and resolves when it is durable. After a rejection the journal is as before, except that bytes
   * behind the tail are undefined.
   */
  async append(batch: Batch): Promise<void> {
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
    // Only now: had the write failed, the segment before would go on to be the last.
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

  /** Makes room for another try at the tail after a write failed for want of space. */
  async cutBack(): Promise<void> {
    const { segment, offset } = this.tail
    if (this.#fileSegment !== 0 && this.#fileSegment !== segment) {
      // The failed batch had begun a segment: nothing in it was acknowledged.
      const failed = this.#fileSegment
      this.#isChanging = true
      try {
        await this.#closeFile()
        await this.#options.disk.remove(this.pathOf(failed))
      } finally {
        this.#isChanging = false
      }
    } else if (this.#file !== undefined) {
      await this.#file.truncate(offset)
    }
  }

  /**
   * Takes up to so many bytes of space for what comes next, before somebody else does. Called between two batches, when the file
   * system is full; however much there is to be had is enough.
   */
  async claim(bytes: number): Promise<void> {
    const { segment, offset } = this.place(this.tail)
    const end = Math.min(offset + bytes, this.#options.segmentBytes)
    if (segment !== this.tail.segment) {
      await this.#preparing
      if (this.#prepared !== segment) await this.#zero(segment, end, () => true)
      return
    }
    const file = this.#fileSegment === segment ? this.#file! : await this.#openSegment(segment)
    try {
      await writeZeros(file, offset, end, () => true)
      if (!file.synchronous) await file.datasync()
    } catch (error) {
      this.#options.log.debug({ err: error, segment }, 'could not take space for the journal')
    }
  }

  async #openSegment(segment: number): Promise<DiskFile> {
    const { disk, direct, place } = this.#options
    this.#isChanging = true
    try {
      await this.#preparing
      await this.#closeFile()
      await place.require()
      const file = await disk.open(this.pathOf(segment), { mode: 'create', direct, synchronous: true })
      this.#file = file
      this.#fileSegment = segment
      // An empty one is new: what was prepared may have been removed by somebody.
      const wasPrepared = this.#prepared === segment && (await file.size()) > 0
      if (this.#prepared === segment) this.#prepared = undefined
      if (!wasPrepared && segment !== this.tail.segment) await disk.syncDirectory(place.path)
      return file
    } finally {
      this.#isChanging = false
    }
  }

  /** Cuts what was zeroed ahead but not used. The next segment's header says where this one ends, so nothing waits for it. */
  #seal(segment: number, end: number): void {
    this.#sealing = this.#sealing.then(async () => {
      try {
        await this.#cut(segment, end)
      } catch (error) {
        this.#options.log.warn({ err: error, segment }, 'could not cut a finished journal segment to its length')
      }
    })
  }

  async #cut(segment: number, end: number): Promise<void> {
    await this.#options.place.require()
    const file = await this.#options.disk.open(this.pathOf(segment), { mode: 'write' })
    try {
      // A file of this size may still be as long as before after a power loss: a former cut may not have reached the disk.
      if ((await file.size()) !== end) await file.truncate(end)
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  /** Zeroes the next segment. Called when the drive is quiet; `isQuiet` is asked again between the pieces. */
  prepareNext(isQuiet: () => boolean): void {
    const next = this.tail.segment + 1
    if (!this.#options.prepare || this.tail.segment === 0 || this.#preparing !== undefined || this.#prepared === next)
      return
    if (this.#fileSegment === next || this.#isChanging) return
    this.#preparing = this.#zero(next, this.#options.segmentBytes, isQuiet).finally(() => {
      this.#preparing = undefined
    })
  }

  async #zero(segment: number, end: number, isQuiet: () => boolean): Promise<void> {
    const { disk, direct, segmentBytes, place } = this.#options
    let file: DiskFile | undefined
    try {
      await place.require()
      file = await disk.open(this.pathOf(segment), { mode: 'create', direct })
      const at = await writeZeros(file, Math.floor((await file.size()) / blockBytes) * blockBytes, end, isQuiet)
      await file.datasync()
      await disk.syncDirectory(place.path)
      if (at >= segmentBytes) this.#prepared = segment
    } catch (error) {
      this.#options.log.debug({ err: error, segment }, 'could not prepare the next journal segment')
    } finally {
      // Nobody waits for it: on a disk that is gone even this fails.
      await file?.close().catch(() => undefined)
    }
  }

  /** Deletes a segment whose records are all elsewhere. The caller has made sure that nothing needs it any more. */
  async removeSegment(segment: number): Promise<void> {
    await this.#sealing
    const { disk, place } = this.#options
    await place.require()
    // Without this segment's header only its size says where the segment before ends.
    const end = this.segments.get(segment - 1)
    if (end !== undefined) await unlessGone(this.#cut(segment - 1, end))
    if (!this.#removed.has(segment)) {
      await unlessGone(disk.remove(this.pathOf(segment)))
      this.#removed.add(segment)
    }
    // Until its name is gone for good it counts as there: a power loss may bring it back, and deletes must outlive it.
    await disk.syncDirectory(place.path)
    this.segments.delete(segment)
    this.#removed.delete(segment)
  }

  async #closeFile(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    this.#fileSegment = 0
    await file?.close()
  }

  async close(): Promise<void> {
    await this.#preparing
    await this.#sealing
    await this.#closeFile()
  }
}

/** Resolves with how far it came: `end`, unless it was no longer quiet. */
async function writeZeros(file: DiskFile, from: number, end: number, isQuiet: () => boolean): Promise<number> {
  const zeros = zeroes()
  let at = from
  for (; at < end && isQuiet(); at += prepareStepBytes) {
    await file.write(zeros, 0, Math.min(prepareStepBytes, end - at), at)
  }
  return at
}

let sharedZeroes: Buffer | undefined

function zeroes(): Buffer {
  sharedZeroes ??= allocateAligned(prepareStepBytes)
  return sharedZeroes
}

/** A file that somebody else has taken away: see `JournalCheck`, which tells of it. */
async function unlessGone(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
