/**
 * Recovery at the start of a drive: replays the journal from the index's position (from the beginning when there is no index)
 * through `DriveState.apply`, the same code as commits. Called by `open-drive.ts`.
 *
 * - The last batch may be torn by a crash during its write; its checksums reveal that. A torn batch was not acknowledged, and the journal
 *   continues in its place. Whether acknowledged batches are missing at the end is judged by the high-water mark, not here.
 * - Anywhere else, records that do not verify are damage: in a finished segment (its end is known from the next segment's header, or from the
 *   file's size), or before an intact batch. Damage of records refuses the start with an exact message, because going on would silently drop
 *   acknowledged writes.
 * - A body that does not verify does not stop the start: reading it fails later. Exception: in the last batch of the journal it means a
 *   torn write, so that batch is dropped.
 * - Segments that are gone, have live records and lie before the replayed ones are returned (`missing`); the drive treats them as damaged
 *   segments.
 */
import type { Clock, Logger } from 'svc/kernel'
import { storageErrors } from 'svc/plugins/storage/api'
import { alignUp, blockBytes } from './aligned-memory.ts'
import { ChangeSet, UndoLog } from './changes.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { Disk } from './disk.ts'
import { driveErrors } from './errors.ts'
import type { JournalPosition } from './index-position.ts'
import type { Journal } from './journal.ts'
import {
  type BatchHeader,
  decodeSegmentHeader,
  hasIntactBodies,
  readTransactions,
  type SegmentHeader,
  segmentHeaderBytes,
  segmentSalt,
} from './journal-format.ts'
import { findLaterBatch, readBatch, SegmentReader } from './journal-reader.ts'
import type { DriveState, MemtableObserver } from './state.ts'
import { encodeStored } from './stored-record.ts'

const progressEveryMs = 5000

export interface RecoveryOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly log: Logger
  readonly journal: Journal
  readonly journalPath: string
  readonly journalKey: Buffer
  readonly driveId: Buffer
  readonly state: DriveState
  readonly checkpoints: Checkpoints
  /** Counts replayed records in the memtable as it does committed ones; checkpoints subtract them again. */
  readonly observer: MemtableObserver | undefined
  /** Called for each sequence number higher than all before. */
  onSequence(sequence: number): void
}

export interface Recovered {
  readonly tail: JournalPosition
  readonly sequence: number
  readonly batchesReplayed: number
  /** Segments with live records whose files are missing. They count as damaged. */
  readonly missing: readonly number[]
}

interface FoundSegment {
  readonly number: number
  readonly path: string
  readonly sizeBytes: number
  readonly header: SegmentHeader | undefined
}

export async function recover(options: RecoveryOptions, from: JournalPosition, sequence: number): Promise<Recovered> {
  const { disk, journal, log, clock } = options
  const found = await findSegments(options)
  const replay: Replay = { ...options, sequence, batches: 0, undo: new UndoLog() }
  let position = from
  if (found.length > 0 && from.segment > 0) {
    const last = found.at(-1)!
    if (found[0]!.number > from.segment || last.number < from.segment) {
      throw damage(
        `the index ends in segment ${from.segment}, which is not there (found ${found[0]!.number} to ${last.number})`,
      )
    }
  }
  if (found.length === 0 && from.segment > 0)
    throw damage(`the index ends in segment ${from.segment}, but there are none`)
  let shown = clock.now()
  for (const [i, segment] of found.entries()) {
    const next = found[i + 1]
    const isLast = next === undefined
    const end = endOf(segment, next)
    if (segment.number < from.segment) {
      journal.segments.set(segment.number, end)
      continue
    }
    if (position.segment > 0 && position.segment !== segment.number) {
      if (from.segment > 0 && segment.number !== position.segment + 1) {
        throw damage(`segment ${position.segment + 1} is missing`)
      }
    }
    if (position.segment !== segment.number) position = beginning(segment)
    // The zeros that pad the last batch may be missing at the end of the file: they carry no data.
    if (position.offset > alignUp(end)) {
      throw damage(`segment ${segment.number} ends at ${end}, before the index (${position.offset})`)
    }
    position = await replaySegment(replay, segment, position, end, isLast)
    journal.segments.set(segment.number, position.offset)
    if (clock.now() - shown >= progressEveryMs) {
      shown = clock.now()
      log.info(
        { segment: segment.number, lastSegment: found.at(-1)!.number, batches: replay.batches },
        'replaying the journal',
      )
    }
  }
  const missing: number[] = []
  for (const [segment, { liveBytes }] of options.state.segments) {
    if (journal.segments.has(segment)) continue
    // Compaction removes a file only after the index has recorded, durably, that no live bytes are left in it.
    if (liveBytes > 0) missing.push(segment)
    else options.state.forgetSegment(segment)
  }
  for (const segment of missing) journal.segments.set(segment, segmentHeaderBytes)
  if (position.segment > 0) await makeDurable(disk, journal.pathOf(position.segment), options.journalPath)
  await bringIndexUpToDate(replay)
  return { tail: position, sequence: replay.sequence, batchesReplayed: replay.batches, missing }
}

/** Syncs the last segment and its folder before anything builds on them: a crashed process may have left them in the page cache only. */
async function makeDurable(disk: Disk, path: string, folder: string): Promise<void> {
  const file = await disk.open(path, { mode: 'write' })
  try {
    await file.datasync()
  } finally {
    await file.close()
  }
  await disk.syncDirectory(folder)
}

async function findSegments(options: RecoveryOptions): Promise<FoundSegment[]> {
  const { disk, journal, driveId } = options
  const numbers = (await disk.list(options.journalPath))
    .filter(name => /^\d{10}$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
  const found: FoundSegment[] = []
  for (const [i, number] of numbers.entries()) {
    const path = journal.pathOf(number)
    const { header, sizeBytes, hasBatches } = await inspectSegment(options, path, number)
    const isLast = i === numbers.length - 1
    if (header === undefined) {
      // Prepared but unused, or its header write was torn: batches are written only after the header is durable. The file stays: on a
      // full file system other software would take its space.
      if (!isLast || hasBatches) throw damage(`the header of segment ${number} does not verify`)
      continue
    }
    if (header.number !== number) throw damage(`segment ${number} calls itself ${header.number}`)
    if (!header.driveId.equals(driveId)) throw damage(`segment ${number} belongs to another drive`)
    found.push({ number, path, sizeBytes, header })
  }
  return found
}

async function inspectSegment(options: RecoveryOptions, path: string, number: number) {
  const file = await options.disk.open(path, { mode: 'read' })
  try {
    const sizeBytes = await file.size()
    const head = Buffer.alloc(segmentHeaderBytes)
    await file.read(head, 0, head.length, 0)
    const header = decodeSegmentHeader(head)
    const salt = segmentSalt(options.journalKey, number)
    const hasBatches =
      header === undefined && (await findLaterBatch(file, salt, segmentHeaderBytes, sizeBytes, 0)) !== undefined
    return { header, sizeBytes, hasBatches }
  } finally {
    await file.close()
  }
}

function beginning(segment: FoundSegment): JournalPosition {
  const { number, header } = segment
  return { segment: number, offset: segmentHeaderBytes, batch: header!.firstBatch, crc: header!.previousCrc }
}

/** Where a finished segment ends; for the last segment, the end of its file. */
function endOf(segment: FoundSegment, next: FoundSegment | undefined): number {
  if (next !== undefined && next.number === segment.number + 1) return next.header!.previousEnd
  return segment.sizeBytes
}

interface Replay extends RecoveryOptions {
  sequence: number
  batches: number
  readonly undo: UndoLog
}

async function replaySegment(
  replay: Replay,
  segment: FoundSegment,
  from: JournalPosition,
  end: number,
  isLast: boolean,
): Promise<JournalPosition> {
  const { disk, journal, journalKey } = replay
  const salt = segmentSalt(journalKey, segment.number)
  const file = await disk.open(segment.path, { mode: 'read' })
  try {
    const reader = new SegmentReader(file, end)
    let position = from
    while (position.offset < end) {
      const batch = await readBatch(reader, salt, position)
      if (typeof batch === 'string') {
        const where = `segment ${segment.number} at ${position.offset}: ${batch}`
        if (!isLast) throw damage(`${where}; the segment ends at ${end}`)
        const later = await findLaterBatch(file, salt, position.offset + blockBytes, end, position.batch)
        if (later !== undefined) throw damage(`${where}; an intact batch follows at ${later}`)
        break
      }
      const { header, bytes } = batch
      if (isLast && !hasIntactBodies(bytes, header, segment.number, position.offset)) {
        const after = position.offset + alignUp(bytes.length)
        const later = await findLaterBatch(file, salt, after, end, position.batch)
        // A later batch proves that this one was acknowledged: its records count, and reading the damaged body fails.
        if (later === undefined) break
      }
      position = {
        segment: segment.number,
        offset: position.offset + alignUp(bytes.length),
        batch: header.number + 1,
        crc: header.crc,
      }
      applyBatch(replay, bytes, header, position)
      journal.resume(position)
      if (replay.checkpoints.isDue) await bringIndexUpToDate(replay)
    }
    return position
  } finally {
    await file.close()
  }
}

/** Writes a checkpoint. If the index cannot be written, replayed changes stay in memory; at the memtable's bound it rejects with `unavailable`. */
async function bringIndexUpToDate({ checkpoints, log }: Replay): Promise<void> {
  try {
    await checkpoints.flush()
  } catch (error) {
    if (!checkpoints.isBehind) return
    log.error({ err: error }, 'the index cannot be built')
    throw storageErrors.unavailable(
      `The index of the drive cannot be built from the journal: ${String((error as Error).message)} Free space on the drive, or find out why it cannot be written, and start again.`,
      { cause: error },
    )
  }
}

function applyBatch(replay: Replay, bytes: Buffer, header: BatchHeader, reached: JournalPosition): void {
  const { state, undo } = replay
  const { segment } = reached
  for (const { sequence, entries } of readTransactions(bytes, header, segment)) {
    if (sequence > replay.sequence) {
      replay.sequence = sequence
      replay.onSequence(sequence)
    }
    for (const entry of entries) {
      const key = Buffer.from(entry.key)
      const text = key.latin1Slice()
      if (entry.kind === 'put') {
        const location = { segment, sequence, bytes: entry.bytes }
        const stored = encodeStored(location, entry.body, entry.bodyMoved, entry.blobs, entry.value)
        state.apply(text, key, stored, undefined, undo)
      } else {
        state.apply(text, key, null, { segment, bytes: entry.bytes, guard: entry.guard }, undo)
      }
      undo.clear()
    }
  }
  const changes = state.filling
  state.filling = new ChangeSet()
  state.absorb(changes, reached, replay.observer)
  replay.batches++
}

function damage(detail: string) {
  return driveErrors.journal_damaged(
    `The journal is damaged: ${detail}. Starting would lose acknowledged writes, so nothing was changed. Restore the drive from a backup, or start with a new folder.`,
  )
}
