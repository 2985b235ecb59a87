/**
 * The high-water mark of the journal, file `journal.reached`: how far the index had reached at the last checkpoint. It lets a
 * start notice that the journal has lost its end: while the index exists its position shows that, but after the index is lost
 * only this file does. Written by `open-drive.ts` after each checkpoint, checked at each start.
 *
 * - It is a lower bound: its position was in the journal, on stable storage, before the file was written.
 * - It is synced only at a clean stop. A file that does not verify is ignored.
 * - Format, little-endian: segment, offset (f64 each), crc32 (u32) of the drive's id and both.
 */
import { crc32 } from '@node-rs/crc32'
import type { Logger } from 'svc/kernel'
import { alignUp } from './aligned-memory.ts'
import type { Disk, DiskFile } from './disk.ts'
import { driveErrors } from './errors.ts'
import type { JournalPosition } from './index-position.ts'

const checkedBytes = 16
const fileBytes = checkedBytes + 4

type Reached = Pick<JournalPosition, 'segment' | 'offset'>

export interface HighWaterMark {
  /** Undefined when no mark was found. */
  readonly reached: Reached | undefined
  /** Throws `journal_damaged` when the journal ends before the mark. */
  requireEnd(end: Reached): void
  /** Raises the mark to a position that the index has reached. */
  note(position: Reached): void
  /** Resolves when the last noted position is on stable storage, or could not be written. Idempotent. */
  close(): Promise<void>
}

/** The file stays open, as that of the index marker does: another drive may be mounted at the path later. */
export async function openHighWaterMark(
  disk: Disk,
  log: Logger,
  drivePath: string,
  driveId: Uint8Array,
): Promise<HighWaterMark> {
  const path = `${drivePath}/journal.reached`
  let reached: Reached | undefined
  let file: DiskFile | undefined
  let writing: Promise<void> | undefined
  const onFailure = (error: unknown) =>
    log.warn({ err: error }, 'the high-water mark of the journal could not be written')
  try {
    const isNew = !(await disk.exists(path))
    file = await disk.open(path, { mode: 'create' })
    if (isNew) await disk.syncDirectory(drivePath)
    else reached = await read(file, driveId)
  } catch (error) {
    onFailure(error)
  }
  /** Positions noted during a write are coalesced: only the last one is written. */
  const write = async () => {
    for (let written: Reached | undefined; written !== reached; ) {
      written = reached
      if (file === undefined || written === undefined) return
      try {
        await file.write(encode(written, driveId), 0, fileBytes, 0)
      } catch (error) {
        return onFailure(error)
      }
    }
  }
  return {
    get reached() {
      return reached
    },
    requireEnd({ segment, offset }) {
      if (reached === undefined || segment > reached.segment) return
      // The zeros that pad the last batch may be missing.
      if (segment === reached.segment && alignUp(offset) >= reached.offset) return
      throw driveErrors.journal_damaged(
        `The journal is damaged: it ends in segment ${segment} at ${offset}, but had reached segment ${reached.segment} at ${reached.offset}. Starting would lose acknowledged writes, so nothing was changed. Restore the drive from a backup, or start with a new folder.`,
      )
    },
    note({ segment, offset }) {
      // An empty journal has no segments.
      if (segment === 0) return
      // During a replay from the beginning the mark is already higher.
      if (
        reached !== undefined &&
        (segment < reached.segment || (segment === reached.segment && offset <= reached.offset))
      )
        return
      reached = { segment, offset }
      writing ??= write().finally(() => {
        writing = undefined
      })
    },
    async close() {
      await writing
      const closing = file
      file = undefined
      try {
        await closing?.datasync()
      } catch (error) {
        onFailure(error)
      }
      await closing?.close().catch(onFailure)
    },
  }
}

function encode({ segment, offset }: Reached, driveId: Uint8Array): Buffer {
  const bytes = Buffer.alloc(fileBytes)
  bytes.writeDoubleLE(segment, 0)
  bytes.writeDoubleLE(offset, 8)
  bytes.writeUInt32LE(checkOf(bytes, driveId), checkedBytes)
  return bytes
}

/** Includes the drive's id, so that another drive's file does not verify. */
function checkOf(bytes: Buffer, driveId: Uint8Array): number {
  return crc32(bytes.subarray(0, checkedBytes), crc32(driveId))
}

async function read(file: DiskFile, driveId: Uint8Array): Promise<Reached | undefined> {
  const bytes = Buffer.alloc(fileBytes)
  if ((await file.read(bytes, 0, fileBytes, 0)) !== fileBytes) return undefined
  if (checkOf(bytes, driveId) !== bytes.readUInt32LE(checkedBytes)) return undefined
  return { segment: bytes.readDoubleLE(0), offset: bytes.readDoubleLE(8) }
}
