/**
 * The file `index.state`: one byte that says how the index was left. `c` after a clean stop; else a digit, how many lives of the
 * server in a row have ended before their first checkpoint. Written in place, so that it can be written on a full drive, too.
 */
import type { Disk, DiskFile, Logger } from 'svc/kernel'

/** So many lives in a row: then it is the index that ends them. */
const fruitlessLivesMax = 3

export interface IndexMarker {
  /** The last stop was clean. */
  readonly wasClean: boolean
  /** The server has ended again and again before the index could be written. */
  readonly isSuspect: boolean
  /** The first checkpoint of this life is done. */
  onCheckpoint(): Promise<void>
  onCleanStop(): Promise<void>
  /** The start was refused, and says why: no life that has ended without a word. */
  onRefused(): Promise<void>
  /** Idempotent. */
  close(): Promise<void>
}

/**
 * Reads the marker, and marks the index as being in use. The file stays open: when it is written again, another drive may lie at the
 * path, or an empty folder that is about to take this one's place.
 */
export async function openIndexMarker(disk: Disk, log: Logger, drivePath: string): Promise<IndexMarker> {
  const path = `${drivePath}/index.state`
  const before = await read(disk, path)
  const fruitlessLives = before >= '0' && before <= '9' ? Number(before) : 0
  let file: DiskFile | undefined
  // It only decides how thoroughly the next start looks.
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
    // Of what was clean the index may have been written to since.
    onRefused: () => write(String(fruitlessLives)),
    async close() {
      const closing = file
      file = undefined
      await closing?.close().catch(onFailure)
    },
  }
}

/** Whether the server that had the drive last has stopped cleanly: then the index has all that the journal has. */
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
