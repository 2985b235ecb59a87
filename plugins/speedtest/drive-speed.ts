/** How fast a drive writes and reads one large file, past the page cache where its file system can do that. */
import { join } from 'node:path'
import type { Random } from 'svc/kernel'
import { allocateAligned, type Disk, type DiskFile } from 'svc/plugins/drive/api'
import type { DriveStatus } from 'svc/plugins/storage/api'
import type { DriveSpeed } from './api.ts'

/** The maximum that the engine writes at once. */
const chunkBytes = 4 * 1024 * 1024

export interface DriveTest {
  /** Rounded down to whole chunks; at least one is written. */
  readonly sizeBytes: number
  /** Time for writing, and again for reading: the rest is left out. */
  readonly seconds: number
  readonly fileName: string
}

/** Never rejects: `error` is the reason if there are no rates. */
export async function measureDrive(
  disk: Disk,
  random: Random,
  { path, state, freeBytes, error }: DriveStatus,
  { sizeBytes, seconds, fileName }: DriveTest,
): Promise<DriveSpeed> {
  const none = { endpoint: path, path, writeBytesPerSecond: 0, readBytesPerSecond: 0 }
  if (state !== 'online') return { ...none, error: error ?? `the drive is ${state}` }
  // The other half is for concurrent writes of clients.
  if (freeBytes < 2 * sizeBytes) {
    return {
      ...none,
      error: `the drive has ${freeBytes} bytes free, and the test needs ${2 * sizeBytes}: ask for a smaller size`,
    }
  }
  try {
    const file = join(path, fileName)
    const writer = await disk.open(file, { mode: 'create', exclusive: true, direct: true })
    let reader: DiskFile | undefined
    try {
      try {
        reader = await disk.open(file, { mode: 'read', direct: true })
      } finally {
        // The space is free again when the file is closed, also when the process is killed.
        await disk.remove(file)
      }
      const buffer = allocateAligned(chunkBytes)
      random.bytes(chunkBytes).copy(buffer)
      const written = await timed(
        seconds,
        sizeBytes,
        position => writer.write(buffer, 0, chunkBytes, position),
        () => writer.datasync(),
      )
      const read = await timed(seconds, written.byteCount, async position => {
        const count = await reader!.read(buffer, 0, chunkBytes, position)
        if (count !== chunkBytes) throw new Error(`${count} of ${chunkBytes} bytes came back at ${position}`)
      })
      return { ...none, writeBytesPerSecond: written.rate, readBytesPerSecond: read.rate, error: '' }
    } finally {
      await reader?.close()
      await writer.close()
    }
  } catch (error) {
    return { ...none, error: (error as Error).message }
  }
}

async function timed(
  seconds: number,
  sizeBytes: number,
  step: (position: number) => Promise<void>,
  end?: () => Promise<void>,
): Promise<{ readonly byteCount: number; readonly rate: number }> {
  const startMs = performance.now()
  let byteCount = 0
  do {
    await step(byteCount)
    byteCount += chunkBytes
  } while (byteCount + chunkBytes <= sizeBytes && performance.now() - startMs < seconds * 1000)
  await end?.()
  return { byteCount, rate: Math.round((byteCount / (performance.now() - startMs)) * 1000) }
}
