/**
 * Files of the configuration folder: for their owner alone, replaced whole or not at all. A file that others can read has
 * exposed its content, so it is refused and not silently repaired.
 */
import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { failure } from './errors.ts'

const fileBytesMax = 4 << 20
const lockWaitMs = 10_000
const lockPauseMs = 50
/** The lock is only held while a file is written; an older lock belongs to a process that died. */
const lockStaleMs = 30_000

const hasOwners = process.platform !== 'win32'

/** The text, or undefined if the file does not exist. Refuses a file that others may read or write. */
export async function readPrivateFile(path: string): Promise<string | undefined> {
  let handle: FileHandle
  try {
    handle = await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const { mode, uid, size } = await handle.stat()
    if (hasOwners && (mode & 0o077) !== 0) {
      throw failure(
        'insecure_file',
        `${path} can be read by others (mode ${(mode & 0o777).toString(8).padStart(4, '0')}) and is not used. ` +
          `If its content is still secret: chmod 600 '${path}'`,
      )
    }
    if (hasOwners && uid !== process.geteuid?.()) {
      throw failure('insecure_file', `${path} belongs to another user and is not used.`)
    }
    if (size > fileBytesMax) throw failure('bad_file', `${path} is larger than any file of svcctl.`)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

/** Mode 0600 from its first byte; on the drive before it gets its name. Makes the folder (0700) where it is missing. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const temporary = join(folder, `.${randomBytes(8).toString('hex')}.tmp`)
  const handle = await open(temporary, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
    await handle.close()
    await rename(temporary, path)
  } catch (error) {
    await handle.close().catch(() => undefined) // It may be closed; the first error is the one to tell.
    await rm(temporary, { force: true })
    throw error
  }
}

/** A new, empty file for content that follows; only its owner may read it. */
export interface ReservedFile {
  write(text: string): Promise<void>
  /** Removes the file, where nothing came. */
  discard(): Promise<void>
}

/**
 * Makes a file before something is asked for that is given only once, so that it has a place. What is there already is never overwritten; the
 * folder has to be there.
 */
export async function reservePrivateFile(path: string): Promise<ReservedFile> {
  let handle: FileHandle
  try {
    handle = await open(path, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw failure('file_exists', `${path} already exists and is not changed: name a new file.`)
  }
  return {
    async write(text) {
      await handle.writeFile(text)
      await handle.sync()
      await handle.close()
    },
    async discard() {
      await handle.close()
      await unlink(path)
    },
  }
}

/** One process at a time, for read-modify-write of a file. */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const lock = `${path}.lock`
  const deadline = Date.now() + lockWaitMs
  for (;;) {
    try {
      await (await open(lock, 'wx', 0o600)).close()
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const age = await stat(lock).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0, // It has just been released.
    )
    if (age > lockStaleMs)
      await unlink(lock).catch(() => undefined) // Another process may have removed it.
    else if (Date.now() > deadline)
      throw failure('locked', `${lock} is held by another svcctl. Remove it if there is none.`)
    else await sleep(lockPauseMs)
  }
  try {
    return await work()
  } finally {
    await unlink(lock)
  }
}
