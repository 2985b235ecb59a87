/**
 * Keeps a second server process out of a drive, by exclusive SQLite locks on two files: `lock`, and `journal/.lock` beside the data.
 * The operating system releases them when the process ends in any way, so there are no stale locks, and they also work between
 * containers.
 *
 * A lock belongs to a file, not to its name. Somebody who removes or replaces one of the files cannot let a second server in: the other
 * lock refuses it. Somebody who removes both can; so the holder compares the names with the files that it holds before each write to
 * the journal and to the index (`loss`), and writes nothing more after a difference.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { driveErrors } from './errors.ts'

/** Relative to the folder of the drive. */
const lockFiles = ['lock', 'journal/.lock'] as const

export interface DriveLock {
  /** Takes the lock inside `journal`, once that folder exists. Throws like `lockDrive`. */
  lockJournal(): void
  /** Compares this file, too, from now on: the segment that is being written. Undefined if there is none. */
  watch(file: string | undefined): void
  /** Why the drive may not be written any more. Undefined as long as all files are the locked ones. Once set, it stays. */
  loss(): Error | undefined
  /** Whether a file is not in its place now, as while the folder of the drive is moved away or not mounted. */
  isAway(): boolean
  release(): void
}

/** For simulations, whose disks no other process can reach. */
export const noLock: DriveLock = {
  lockJournal() {},
  watch() {},
  loss: () => undefined,
  isAway: () => false,
  release() {},
}

/** Throws what `lockDrive` would throw, without keeping or creating a lock: for `--dry-run`. */
export function probeLock(path: string): void {
  for (const name of lockFiles) if (existsSync(`${path}/${name}`)) lockFile(path, `${path}/${name}`).close()
}

/** Throws the system's error when the folder is not writable, and `drive_in_use` when another process has the lock. */
export function lockDrive(path: string): DriveLock {
  const databases: DatabaseSync[] = []
  const held = new Map<string, Identity>()
  let watched: string | undefined
  let lost: Error | undefined
  const take = (file: string) => {
    databases.push(lockFile(path, file))
    held.set(file, identityOf(file))
  }
  const missing = (): string | undefined => {
    for (const [file, { dev, ino }] of held) {
      const now = identityOf(file)
      if (now.dev !== dev || now.ino !== ino) return file
    }
    return undefined
  }
  take(`${path}/${lockFiles[0]}`)
  return {
    lockJournal: () => take(`${path}/${lockFiles[1]}`),
    watch(file) {
      if (watched !== undefined) held.delete(watched)
      if (file !== undefined) held.set(file, identityOf(file))
      watched = file
    },
    loss() {
      if (lost !== undefined) return lost
      const file = missing()
      if (file !== undefined) {
        lost = new Error(
          `${file} was removed or replaced while the drive was in use. Nothing more is written to the drive.`,
        )
      }
      return lost
    },
    isAway: () => missing() !== undefined,
    release() {
      for (const database of databases.splice(0)) database.close()
    },
  }
}

interface Identity {
  readonly dev: number
  readonly ino: number
}

const nothing: Identity = { dev: -1, ino: -1 }

/** Synchronous, because it is asked before each write: names that are used all the time are in memory (1.7 µs). */
function identityOf(file: string): Identity {
  try {
    return statSync(file, { throwIfNoEntry: false }) ?? nothing
  } catch {
    // A folder above it is no folder any more, or may not be searched: the file is not there for this process.
    return nothing
  }
}

function lockFile(path: string, file: string): DatabaseSync {
  accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  // A lock file of another user must give the plain permission error.
  if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file)
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database?.close()
    const message = String((error as Error).message)
    if (/locked|busy/i.test(message)) {
      throw driveErrors.drive_in_use(
        `Another server process has the drive ${path} open. Stop it first: \`fuser -v ${file}\` names the process.`,
      )
    }
    throw driveErrors.drive_not_writable(`The lock of drive ${path} cannot be taken: ${message}.`, { cause: error })
  }
}
