/**
 * The file `index.state`: one byte that records how the index was left. `c`: clean stop. A digit: the number of consecutive runs
 * of the server that ended before their first checkpoint. It is written in place, which works on a full drive. `open-drive.ts`
 * uses it to decide how thoroughly the next start checks the index.
 */
import type { Logger } from 'svc/kernel'
import type { Disk, DiskFile } from './disk.ts'

/** After so many runs without a checkpoint the index itself is suspected. */
const fruitlessLivesMax = 3

export interface IndexMarker {
  /** Whether the last stop was clean. */
  readonly wasClean: boolean
  /** Whether too many consecutive runs ended before their first checkpoint. */
  readonly isSuspect: boolean
  /** Called after the first checkpoint of this run. */
  onCheckpoint(): Promise<void>
  onCleanStop(): Promise<void>
  /** Called when the start was refused with an error, which does not count as a crash. */
  onRefused(): Promise<void>
  /** Idempotent. */
  close(): Promise<void>
}

/**
 * Reads the marker and marks the index as in use. The file stays open, because another drive, or an empty folder, may be mounted
 * at the path when it is written again.
 */
export async function openIndexMarker(disk: Disk, log: Logger, drivePath: string): Promise<IndexMarker> {
  const path = `${drivePath}/index.state`
  const before = await read(disk, path)
  const fruitlessLives = before >= '0' && before <= '9' ? Number(before) : 0
  let file: DiskFile | undefined
  // Not fatal: the byte only decides how thoroughly the next start checks.
  const onFailure = (error: unknown) => log.warn({ err: error }, 'the state of the index could not be noted')
  const write = async (state: string) => {
    try {
      if (file === undefined) return
      await file.write(Buffer.from(state), 0, 1, 0)
      await file.datasync()
    } catch (error) {
      onFailure(error)
    }
  }
  try {
    const isNew = !(await disk.exists(path))
    file = await disk.open(path, { mode: 'create' })
    await write(String(Math.min(9, fruitlessLives + 1)))
    if (isNew) await disk.syncDirectory(drivePath)
  } catch (error) {
    onFailure(error)
  }
  return {
    wasClean: before === 'c',
    isSuspect: fruitlessLives >= fruitlessLivesMax,
    onCheckpoint: () => write('0'),
    onCleanStop: () => write('c'),
    // Never `c`: this run may have written to the index.
    onRefused: () => write(String(fruitlessLives)),
    async close() {
      const closing = file
      file = undefined
      await closing?.close().catch(onFailure)
    },
  }
}

/** Whether the last server stopped cleanly, so that the index has everything the journal has. */
export async function wasLeftClean(disk: Disk, drivePath: string): Promise<boolean> {
  return (await read(disk, `${drivePath}/index.state`)) === 'c'
}

async function read(disk: Disk, path: string): Promise<string> {
  if (!(await disk.exists(path))) return ''
  const file = await disk.open(path, { mode: 'read' })
  try {
    const byte = Buffer.alloc(1)
    return (await file.read(byte, 0, 1, 0)) === 1 ? byte.latin1Slice() : ''
  } finally {
    await file.close()
  }
}
