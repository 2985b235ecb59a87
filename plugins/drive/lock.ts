/**
 * Keeps a second server process out of a drive, by an exclusive SQLite lock on the file `lock`. The operating system releases it
 * when the process ends in any way, so there are no stale locks, and it also works between containers.
 */
import { accessSync, constants, existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { driveErrors } from './errors.ts'

/** Throws what `lockDrive` would throw, without keeping or creating a lock: for `--dry-run`. */
export function probeLock(path: string): void {
  if (existsSync(`${path}/lock`)) lockDrive(path)()
}

/** Takes the lock and returns the function that releases it. Throws the system's error when the folder is not writable. */
export function lockDrive(path: string): () => void {
  const file = `${path}/lock`
  accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  // A lock file of another user must give the plain permission error.
  if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file)
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    const message = String((error as Error).message)
    if (/locked|busy/i.test(message)) {
      throw driveErrors.drive_in_use(`Another server process has the drive ${path} open.`)
    }
    throw driveErrors.drive_not_writable(`The lock of drive ${path} cannot be taken: ${message}.`, { cause: error })
  }
  const held = database
  let isHeld = true
  return () => {
    if (isHeld) held.close()
    isHeld = false
  }
}
