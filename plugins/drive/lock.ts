/**
 * Keeps a second server out of a drive. The lock is an exclusive SQLite lock on the file `lock`: a lock of the operating
 * system, which ends with the process that holds it, however that ends. So there is nothing stale to detect, and the holders
 * may be in different containers.
 */
import { accessSync, constants, existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { driveErrors } from './errors.ts'

/** Throws what `lockDrive` would. Nobody has a lock that does not exist, and none is made. */
export function probeLock(path: string): void {
  if (existsSync(`${path}/lock`)) lockDrive(path)()
}

/** Returns what gives the lock back. Throws the system's error when the folder cannot be written at all. */
export function lockDrive(path: string): () => void {
  const file = `${path}/lock`
  accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  // Left by another user.
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
