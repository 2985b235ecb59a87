/** Files that get their name when all of them is there. */
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { unfinished } from './transfer/local-file.ts'

/** For its owner alone: who wants to share it can say so. What `write` throws leaves nothing behind. */
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
