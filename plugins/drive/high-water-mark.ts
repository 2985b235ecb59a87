/**
 * The file `journal.reached`: how far into the journal the index has reached, written beside it after each checkpoint. The end of the last
 * segment is known to nobody else once the index is built anew: without a witness a journal that has lost its end would look whole.
 *
 * Little-endian: segment, offset (f64 each), crc32 of both behind the id of the drive (u32). It is a lower bound, and is not synced but at
 * a clean stop: whatever it says was in the journal, on stable storage, before. What does not verify says nothing.
 */
import { crc32 } from 'node:zlib'
import type { Disk, DiskFile, Logger } from 'svc/kernel'
import { alignUp } from './aligned-memory.ts'
import { driveErrors } from './errors.ts'
import type { JournalPosition } from './index-position.ts'

const checkedBytes = 16
const fileBytes = checkedBytes + 4

type Reached = Pick<JournalPosition, 'segment' | 'offset'>

export interface HighWaterMark {
  /** Undefined where nothing is known. */
  readonly reached: Reached | undefined
  /** Throws `journal_damaged` where the journal ends before that. */
  requireEnd(end: Reached): void
  /** The index has come as far as this. */
  note(position: Reached): void
  /** Resolves when what was noted last is on stable storage, or cannot be brought there. Idempotent. */
  close(): Promise<void>
}

/** The file stays open, as that of the index marker: what lies at the path may be another drive by then. */
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
  const onFailure = (error: unknown) => log.warn({ err: error }, 'the end of the journal could not be noted')
  try {
    const isNew = !(await disk.exists(path))
    file = await disk.open(path, { mode: 'create' })
    if (isNew) await disk.syncDirectory(drivePath)
    else reached = await read(file, driveId)
  } catch (error) {
    onFailure(error)
  }
  /** What comes while one is being written is written after it: only the last one counts. */
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
        `The journal is damaged: it ends in segment ${segment} at ${offset}, but had reached segment ${reached.segment} at ${reached.offset}. Restore the drive, or start with a new folder.`,
      )
    },
    note({ segment, offset }) {
      // A journal that has nothing has no segments.
      if (segment === 0) return
      // A journal that is read from its beginning has been further before.
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

/** That of another drive says nothing of this one. */
function checkOf(bytes: Buffer, driveId: Uint8Array): number {
  return crc32(bytes.subarray(0, checkedBytes), crc32(driveId))
}

async function read(file: DiskFile, driveId: Uint8Array): Promise<Reached | undefined> {
  const bytes = Buffer.alloc(fileBytes)
  if ((await file.read(bytes, 0, fileBytes, 0)) !== fileBytes) return undefined
  if (checkOf(bytes, driveId) !== bytes.readUInt32LE(checkedBytes)) return undefined
  return { segment: bytes.readDoubleLE(0), offset: bytes.readDoubleLE(8) }
}
