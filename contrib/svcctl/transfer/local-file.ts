/** Files of this machine: read as upload sources, and written so that a name never stands for less than the whole content. */
import { randomBytes } from 'node:crypto'
import { closeSync, futimesSync, openSync, renameSync, unlinkSync, writeSync } from 'node:fs'
import { type FileHandle, open, rename, rm, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { failure } from '../errors.ts'
import type { UploadSource } from './upload.ts'

export interface LocalSource extends UploadSource {
  readonly sizeBytes: number
  readonly modifiedMs: number
  /** Identifies the same file in another run. */
  readonly identity: readonly unknown[]
  close(): Promise<void>
}

/** Throws a system error, or an error if it is not a regular file. */
export async function openSource(path: string): Promise<LocalSource> {
  const handle = await open(path, 'r')
  try {
    const before = await handle.stat({ bigint: true })
    if (!before.isFile())
      throw failure('no_file', `${path} is no file${before.isDirectory() ? ': -r copies folders' : ''}.`)
    const sizeBytes = Number(before.size)
    let at = 0
    return {
      name: path,
      sizeBytes,
      modifiedMs: Number(before.mtimeNs) / 1e6,
      identity: [path, String(before.size), String(before.mtimeNs), String(before.ino), String(before.dev)],
      async read(buffer) {
        const filled = await fill(handle, buffer, at)
        at += filled
        return filled
      },
      async check() {
        const after = await handle.stat({ bigint: true })
        if (after.size !== before.size || after.mtimeNs !== before.mtimeNs) {
          throw failure('source_changed', `${path} changed while it was read; nothing was stored.`)
        }
      },
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function fill(handle: FileHandle, buffer: Buffer, position: number): Promise<number> {
  let filled = 0
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return filled
}

/** Unfinished files that are of no use to a later run: removed when this one is interrupted. */
export const unfinished = new Set<string>()

export function removeUnfinished(): void {
  for (const path of unfinished) {
    try {
      unlinkSync(path)
    } catch {
      // It has its name by now, or never came to be.
    }
  }
  unfinished.clear()
}

/** Unique among all of our processes, also earlier ones. */
const prefix = randomBytes(8).toString('hex')
let count = 0

const atOnceBytesMax = 1 << 18
/**
 * Handing a small file to the threads of the pool costs more than to write it, four times over. Where a file system is
 * slow, many are to be under way at a time: after one that took long, so many go that way before it is tried again.
 */
let slowUntil = 0
const slowMs = 20
const slowCount = 200

function writeAtOnce(path: string, content: Buffer, modifiedMs: number | undefined): void {
  const file = openSync(path, 'wx')
  try {
    for (let at = 0; at < content.length; ) at += writeSync(file, content, at)
    if (modifiedMs !== undefined) futimesSync(file, modifiedMs / 1000, modifiedMs / 1000)
  } finally {
    closeSync(file)
  }
}

/** Written under a temporary name; it gets the final name when it is complete, and with `isDurable` synced. */
export async function writeWhole(
  path: string,
  content: Buffer,
  modifiedMs: number | undefined,
  isDurable: boolean,
): Promise<void> {
  const temporary = join(dirname(path), `.svcctl-${prefix}-${++count}.part`)
  unfinished.add(temporary)
  try {
    if (!isDurable && count > slowUntil && content.length <= atOnceBytesMax) {
      const startedMs = performance.now()
      writeAtOnce(temporary, content, modifiedMs)
      renameSync(temporary, path)
      if (performance.now() - startedMs > slowMs) slowUntil = count + slowCount
      return
    }
    const handle = await open(temporary, 'wx')
    try {
      if (content.length > 0) await writeAll(handle, content, 0)
      if (isDurable) await handle.datasync()
      if (modifiedMs !== undefined) await handle.utimes(modifiedMs / 1000, modifiedMs / 1000)
    } finally {
      await handle.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  } finally {
    unfinished.delete(temporary)
  }
}

export async function writeAll(handle: FileHandle, content: Buffer, position: number): Promise<void> {
  let written = 0
  while (written < content.length) {
    written += (await handle.write(content, written, content.length - written, position + written)).bytesWritten
  }
}

export async function setModified(path: string, modifiedMs: number): Promise<void> {
  await utimes(path, modifiedMs / 1000, modifiedMs / 1000)
}
