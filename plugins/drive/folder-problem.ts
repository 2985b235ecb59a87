/**
 * Turns errors of the operating system at a drive's folder into messages for the operator. Called when a drive is opened or
 * checked.
 */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { storageErrors } from 'svc/plugins/storage/api'
import { driveErrors } from './errors.ts'
import { isOutOfSpace } from './space.ts'

/** Maps errors of the operating system to `drive_not_writable` or `full`; returns other errors unchanged. */
export function asDriveError(error: unknown, drivePath: string): unknown {
  const { code, path = drivePath, syscall } = error as NodeJS.ErrnoException
  if (isOutOfSpace(error)) {
    return storageErrors.full(
      `The drive ${drivePath} cannot be opened: its file system is full. Free space and start again.`,
      {
        cause: error,
      },
    )
  }
  // ENOENT inside a drive means that a part is missing; only for mkdir it means that the folder cannot be created.
  const problem = code === 'ENOENT' && syscall !== 'mkdir' ? undefined : problemOf(code, path)
  if (problem === undefined) return error
  return driveErrors.drive_not_writable(`${drivePath} cannot be the drive: ${problem}`, { cause: error })
}

function problemOf(code: string | undefined, path: string): string | undefined {
  switch (code) {
    case 'ENOTDIR':
    case 'EEXIST':
      return `${path} is not a folder. Name a folder, or a place where one can be created.`
    case 'ENOENT':
      return `${path} cannot be created there. Name a folder of a file system that stores files.`
    case 'EROFS':
      return `the file system of ${path} is read-only.`
    case 'EACCES':
    case 'EPERM':
      return `${whoWeAre()} may not ${missingRight(path)}. Give it to that user, or start the server as its owner.`
    default:
      return undefined
  }
}

function whoWeAre(): string {
  const user = process.getuid?.()
  return user === undefined ? 'the server' : `the server runs as user ${user}, group ${process.getgid?.()}, and`
}

/** The missing permission and its owner: of the path, or of its nearest ancestor that can be inspected. */
function missingRight(path: string): string {
  for (let at = path; ; at = dirname(at)) {
    try {
      const { uid, gid, mode } = statSync(at)
      const right = at === path ? 'read and write' : 'write in'
      return `${right} ${at} (owner ${uid}, group ${gid}, mode ${(mode & 0o7777).toString(8).padStart(4, '0')})`
    } catch {
      if (dirname(at) === at) return `write ${path}`
    }
  }
}
