/** Files that get their name when they are complete. */
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { unfinished } from './transfer/local-file.ts'

/** Readable by its owner alone; the owner may share it. If `write` throws, no file remains. */
export async function writeWholeFile(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const temporary = join(dirname(path), `.svcctl-${process.pid}-${Date.now()}.part`)
  const file = await open(temporary, 'wx', 0o600)
  unfinished.add(temporary)
  try {
    try {
      await write(file)
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  } finally {
    unfinished.delete(temporary)
  }
}
