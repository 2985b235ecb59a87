/**
 * Audit records in a file, one line of JSON each. A record counts as written when it is synced: the file survives a power loss as far as
 * `send` has resolved. Every call opens the file by its name, so that it may be moved away at any time (`logrotate` without `copytruncate`).
 */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import type { AuditSinkKind, AuditTarget } from 'svc/plugins/audit/api'
import { type Static, Type } from 'typebox'

const FileSettings = Type.Object({
  path: Type.String({
    default: '',
    maxLength: 4096,
    description: 'Absolute path of the file. Its folder must exist; the file is made for the user of the server alone.',
  }),
})

/** Lines that are written and synced together. */
const batchMax = 256
const newline = 0x0a

export const fileKind: AuditSinkKind<typeof FileSettings> = {
  description: 'Audit records as lines of JSON in a file of the server.',
  settings: FileSettings,
  validate: ({ path }) => (isAbsolute(path) ? [] : [{ key: 'path', problem: 'must be an absolute path' }]),
  endpoint: ({ path }) => (path === '' ? '' : `file://${path}`),
  connect: connectFile,
}

export function connectFile({ path }: Static<typeof FileSettings>): AuditTarget {
  let isClosed = false
  return {
    batchMax,
    async send(records, signal) {
      if (isClosed) throw new Error('The target was closed.')
      signal.throwIfAborted()
      const lines = Buffer.concat(records.flatMap(({ body }) => [body, Buffer.of(newline)]))
      try {
        await append(path, lines)
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException
        throw new Error(`${path}: ${code === 'ENOENT' ? 'its folder is not there' : message}`)
      }
    },
    async close() {
      isClosed = true
    },
  }
}

async function append(path: string, lines: Buffer): Promise<void> {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT
  const file = await open(path, flags, 0o600)
  try {
    const { size } = await file.stat()
    // A crash may have left half a line: the next record begins a line of its own.
    const isTorn = size > 0 && (await byteAt(file, size - 1)) !== newline
    await file.appendFile(isTorn ? Buffer.concat([Buffer.of(newline), lines]) : lines)
    await file.datasync()
    // The name of a new file has to survive as well.
    if (size === 0) await syncFolder(dirname(path))
  } finally {
    await file.close()
  }
}

async function byteAt(file: FileHandle, position: number): Promise<number> {
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, position)
  return buffer[0]!
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
