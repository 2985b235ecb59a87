/**
 * Reads and verifies batches from segment files. `recovery.ts` uses it at start, `Compaction` to move records, `JournalCheck` to
 * verify segments in the background.
 */

import { alignUp, blockBytes } from './aligned-memory.ts'
import type { Disk, DiskFile } from './disk.ts'
import type { JournalPosition } from './index-position.ts'
import type { Journal } from './journal.ts'
import {
  type BatchHeader,
  batchHeaderBytes,
  decodeBatchHeader,
  decodeSegmentHeader,
  isBatchIntact,
  segmentHeaderBytes,
  segmentSalt,
} from './journal-format.ts'

const windowBytes = 4 * 1024 * 1024

/** The verified batch at a position, or the reason why there is none. */
export async function readBatch(
  reader: SegmentReader,
  salt: Buffer,
  position: Pick<JournalPosition, 'offset' | 'batch' | 'crc'>,
): Promise<{ readonly header: BatchHeader; readonly bytes: Buffer } | string> {
  const head = await reader.at(position.offset, batchHeaderBytes)
  if (head === undefined) return 'the file ends'
  const header = decodeBatchHeader(head, salt)
  if (header === undefined) return 'no batch begins here'
  if (header.number !== position.batch) return `batch ${header.number} where ${position.batch} belongs`
  if (header.previousCrc !== position.crc) return `batch ${header.number} does not follow from the one before`
  const bytes = await reader.at(position.offset, batchHeaderBytes + header.payloadBytes)
  if (bytes === undefined) return `batch ${header.number} is longer than the file`
  if (!isBatchIntact(bytes, header)) return `batch ${header.number} does not match its checksum`
  return { header, bytes }
}

/** Offset of an intact batch at or after `from` whose number is at least `batch`. */
export async function findLaterBatch(
  file: DiskFile,
  salt: Buffer,
  from: number,
  end: number,
  batch: number,
): Promise<number | undefined> {
  const reader = new SegmentReader(file, end, Buffer.allocUnsafeSlow(Math.min(windowBytes, Math.max(0, end - from))))
  for (let offset = from; offset < end; offset += blockBytes) {
    const head = await reader.at(offset, batchHeaderBytes)
    if (head === undefined) return undefined
    const header = decodeBatchHeader(head, salt)
    if (header === undefined || header.number < batch) continue
    const bytes = await reader.at(offset, batchHeaderBytes + header.payloadBytes)
    if (bytes !== undefined && isBatchIntact(bytes, header)) return offset
  }
  return undefined
}

/** A segment, or a part of it, cannot be read or does not verify; `message` is the reason. */
export class SegmentDamage extends Error {
  readonly offset: number

  constructor(offset: number, reason: string) {
    super(reason)
    this.offset = offset
  }
}

export interface SegmentBatch {
  readonly offset: number
  readonly header: BatchHeader
  /** Valid until the next batch is read. */
  readonly bytes: Buffer
}

/** Whether an error means that the content of a file is lost or unreadable, as opposed to e.g. a lack of permission. */
export function isUnreadable(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'EIO' || code === 'EUCLEAN' || code === 'EILSEQ' || code === 'ENODATA' || code === 'ENOENT'
}

/** All batches of a segment that is not written any more. Throws `SegmentDamage` where one cannot be read or does not verify. */
export async function* readSegment(
  { disk, journal, journalKey }: { readonly disk: Disk; readonly journal: Journal; readonly journalKey: Buffer },
  segment: number,
): AsyncGenerator<SegmentBatch, void> {
  const end = journal.segments.get(segment)!
  const salt = segmentSalt(journalKey, segment)
  const file = await orDamage(0, disk.open(journal.pathOf(segment), { mode: 'read' }))
  try {
    const reader = new SegmentReader(file, end)
    const head = await orDamage(0, reader.at(0, segmentHeaderBytes))
    const header = head && decodeSegmentHeader(head)
    if (header === undefined) throw new SegmentDamage(0, 'its header does not verify')
    let position = { offset: segmentHeaderBytes, batch: header.firstBatch, crc: header.previousCrc }
    while (position.offset < end) {
      const batch = await orDamage(position.offset, readBatch(reader, salt, position))
      if (typeof batch === 'string') throw new SegmentDamage(position.offset, batch)
      const { bytes, header } = batch
      const next = { offset: position.offset + alignUp(bytes.length), batch: header.number + 1, crc: header.crc }
      yield { offset: position.offset, header, bytes }
      position = next
    }
  } finally {
    await file.close()
  }
}

async function orDamage<T>(offset: number, reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    throw isUnreadable(error) ? new SegmentDamage(offset, `it cannot be read: ${(error as Error).message}`) : error
  }
}

/**
 * Reads a segment through a 4 MiB window, so that walking its batches takes few reads. Where `memory` is given, all windows that fit
 * into it share it, and bytes are valid until the next call; otherwise each has memory of its own.
 */
export class SegmentReader {
  readonly #file: DiskFile
  readonly #end: number
  readonly #memory?: Buffer
  #window: Buffer = Buffer.alloc(0)
  #windowStart = 0

  constructor(file: DiskFile, end: number, memory?: Buffer) {
    this.#file = file
    this.#end = end
    this.#memory = memory
  }

  /** `length` bytes at `offset`. Undefined when the file is shorter. */
  async at(offset: number, length: number): Promise<Buffer | undefined> {
    if (offset + length > this.#end) return undefined
    const start = offset - this.#windowStart
    if (start >= 0 && start + length <= this.#window.length) return this.#window.subarray(start, start + length)
    const size = Math.min(Math.max(length, windowBytes), this.#end - offset)
    const window = size <= (this.#memory?.length ?? -1) ? this.#memory! : Buffer.allocUnsafeSlow(size)
    const count = await this.#file.read(window, 0, size, offset)
    this.#window = window.subarray(0, count)
    this.#windowStart = offset
    return count >= length ? this.#window.subarray(0, length) : undefined
  }
}
