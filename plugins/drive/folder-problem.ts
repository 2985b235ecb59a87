/** What keeps a folder from being used as a drive, in words for the operator. */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { storageErrors } from 'svc/plugins/storage/api'
import { driveErrors } from './errors.ts'
import { isOutOfSpace } from './space.ts'

/** Errors of the operating system become `drive_not_writable` or `full`; others stay as they are. */
export function asDriveError(error: unknown, drivePath: string): unknown {
  const { code, path = drivePath, syscall } = error as NodeJS.ErrnoException
  if (isOutOfSpace(error)) {
    return storageErrors.full(
      `The drive ${drivePath} cannot be opened: its file system is full. Make room and start again.`,
      {
        cause: error,
      },
    )
  }
  // What is missing inside a drive is another matter than a folder that cannot be made.
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
      return `${path} cannot be created there. Name a folder of a file system that keeps files.`
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

/** What would be needed, and who has it: of the path, or where that is not to be seen, of what lies above it. */
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
