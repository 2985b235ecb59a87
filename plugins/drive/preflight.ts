/**
 * For `server --dry-run`: inspects a drive without opening or changing it. It finds the reasons that would refuse a start, and
 * reads single records. The journal is not replayed, so damage in it is not found.
 */
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Cursor, RecordKey, StoredRecord } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import type { DriveLook } from './api.ts'
import { walk } from './cursor.ts'
import type { Disk } from './disk.ts'
import { driveErrors } from './errors.ts'
import { asDriveError } from './folder-problem.ts'
import { type DriveFormat, findFormat } from './format.ts'
import { lmdbIndexFolder } from './index-folder.ts'
import { wasLeftClean } from './index-marker.ts'
import type { IndexStore } from './index-store.ts'
import { openLmdbIndex } from './lmdb-index.ts'
import { probeLock } from './lock.ts'
import { requireFolders } from './open-drive.ts'
import { storedBody, storedValue, verifyStored } from './stored-record.ts'

/** Files that a start writes to if they exist; they may belong to another user. */
const writtenTo = ['lock', 'journal', 'blobs', 'index', 'index/data.mdb', 'index/lock.mdb', 'index.state', 'ballast']

/** One sentence for the first reason found why the drive could not be opened; empty if there is none. */
export async function checkDrive(disk: Disk, path: string): Promise<string[]> {
  try {
    if (!(await disk.exists(path))) await requireFileSystem(disk, path)
    else {
      probeLock(path)
      const isDrive = (await findFormat(disk, path)) !== undefined
      if (isDrive) await requireFolders(disk, path)
      else await requireFileSystem(disk, path)
      for (const name of writtenTo) {
        if (await disk.exists(join(path, name))) await access(join(path, name), constants.R_OK | constants.W_OK)
      }
    }
    return []
  } catch (error) {
    return [(asDriveError(error, path) as Error).message]
  }
}

/** One sentence per thing that opening the drive would create. */
export async function planDrive(disk: Disk, path: string): Promise<string[]> {
  const { state } = await lookAtDrive(disk, path)
  return state === 'empty' ? [`A new drive is created in ${path}.`] : []
}

/** The identity of the folder. Does not reject: a problem is part of the answer. */
export async function lookAtDrive(disk: Disk, path: string): Promise<DriveLook> {
  let format: DriveFormat | undefined
  let problem: string | undefined
  try {
    if (await disk.exists(path)) format = await findFormat(disk, path)
    if (format === undefined) await requireFileSystem(disk, path)
    else await requireFolders(disk, path)
  } catch (error) {
    problem = (asDriveError(error, path) as Error).message
  }
  return {
    path,
    state: problem !== undefined ? 'unusable' : format === undefined ? 'empty' : 'formatted',
    driveId: format?.driveId.toString('hex'),
    deploymentId: format?.deploymentId,
    problem,
  }
}

/** Throws where no files can be created, as in `/proc`: such file systems report no space at all. */
async function requireFileSystem(disk: Disk, path: string): Promise<void> {
  let at = path
  while (!(await disk.exists(at))) at = dirname(at)
  if (!(await disk.exists(`${at}/.`))) {
    throw driveErrors.drive_not_writable(`${path} cannot be the drive: ${at} is not a folder. Name a folder.`)
  }
  if ((await disk.space(at)).totalBytes > 0) return
  throw driveErrors.drive_not_writable(
    `${path} cannot be the drive: ${at} has no space at all. Name a folder of a file system that stores files.`,
  )
}

/**
 * The record as the last run left it, after a `checkDrive` without findings. Rejects with the reason when the index alone cannot
 * answer.
 */
export function peekDrive(disk: Disk, path: string, key: RecordKey): Promise<StoredRecord | undefined> {
  return withIndexAsLeft(disk, path, index => {
    const stored = index.get('records', key)
    if (stored === undefined) return undefined
    verifyStored(stored)
    return { value: storedValue(stored), body: storedBody(stored) }
  })
}

/** As `peekDrive`, for the records from `start` to before `end`. Without a drive, `visit` is not called. */
export function peekScanDrive<T>(
  disk: Disk,
  path: string,
  start: RecordKey,
  end: RecordKey,
  visit: (cursor: Cursor) => T,
): Promise<T | undefined> {
  return withIndexAsLeft(disk, path, index => walk(index, 'records', [], start, end, visit))
}

async function withIndexAsLeft<T>(disk: Disk, path: string, read: (index: IndexStore) => T): Promise<T | undefined> {
  const index = `${path}/index`
  if (!(await disk.exists(path)) || (await findFormat(disk, path)) === undefined) return undefined
  const isWhole = (await disk.exists(`${index}/data.mdb`)) && (await disk.exists(`${index}/lock.mdb`))
  if (!isWhole || !(await wasLeftClean(disk, path))) {
    throw storageErrors.unavailable('the last run was not stopped cleanly, and only a start replays the journal')
  }
  // In a separate process, because LMDB trusts what it reads and a damaged file may crash it.
  if ((await lmdbIndexFolder.check(index, 'start', 'untouched')).problem !== undefined) {
    throw storageErrors.unavailable('the index is damaged, and only a start rebuilds it from the journal')
  }
  const opened = openLmdbIndex(index, { readOnly: true })
  try {
    return read(opened)
  } finally {
    await opened.close()
  }
}
