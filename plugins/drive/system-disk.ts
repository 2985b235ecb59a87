/**
 * The disk port over `node:fs`. Direct and synchronous opens exist on Linux; elsewhere, and on file systems that refuse
 * O_DIRECT (tmpfs, some overlays), files are opened through the page cache and `DiskFile.direct` says so.
 */
import {
  close,
  closeSync,
  constants,
  fdatasync,
  fstat,
  fsync,
  ftruncate,
  mkdir,
  open as openFile,
  readdir,
  read as readFile,
  rename,
  type Stats,
  type StatsFs,
  stat,
  statfs,
  unlink,
  write as writeFile,
} from 'node:fs'
import { dirname } from 'node:path'
import type { Disk, DiskFile, DiskSpace, OpenOptions } from './disk.ts'

const isLinux = process.platform === 'linux'

export function createSystemDisk(): Disk {
  return {
    open,
    makeDirectory,
    list: path => call<string[]>(done => readdir(path, done)),
    exists,
    rename: (from, to) => call<void>(done => rename(from, to, done)),
    remove: path => call<void>(done => unlink(path, done)),
    syncDirectory,
    space,
    deviceOf: async path => (await call<Stats>(done => stat(path, done))).dev,
  }
}

type Done<T> = (error: NodeJS.ErrnoException | null, value?: T) => void

function call<T>(run: (done: Done<T>) => void): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    run((error, value) => (error ? reject(error) : resolve(value as T)))
  })
}

function flagsOf(options: OpenOptions): number {
  const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL } = constants
  if (options.mode === 'read') return O_RDONLY
  if (options.mode === 'write') return O_RDWR
  return O_RDWR | O_CREAT | (options.exclusive ? O_EXCL : 0)
}

async function open(path: string, options: OpenOptions): Promise<DiskFile> {
  const synchronous = isLinux && options.synchronous === true
  const flags = flagsOf(options) | (synchronous ? constants.O_DSYNC : 0)
  if (isLinux && options.direct) {
    try {
      const fd = await call<number>(done => openFile(path, flags | constants.O_DIRECT, 0o640, done))
      return new SystemFile(fd, true, options)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error
      // Linux creates the file before it finds that the file system has no O_DIRECT. It was not there before: that would be EEXIST.
      if (options.mode === 'create' && options.exclusive) await call<void>(done => unlink(path, () => done(null)))
    }
  }
  const fd = await call<number>(done => openFile(path, flags, 0o640, done))
  return new SystemFile(fd, false, options)
}

async function exists(path: string): Promise<boolean> {
  try {
    await call(done => stat(path, done))
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw error
  }
}

/** Not `mkdir` with `recursive`: that one never ends where a folder cannot be made because there is none, as below /proc. */
async function makeDirectory(path: string): Promise<void> {
  const missing: string[] = []
  let existing = path
  while (!(await isDirectory(existing))) {
    missing.push(existing)
    existing = dirname(existing)
  }
  for (const folder of missing.reverse()) {
    try {
      await call<void>(done => mkdir(folder, error => done(error)))
    } catch (error) {
      // Somebody else was faster.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !(await isDirectory(folder))) throw error
    }
  }
}

/** False where there is nothing. */
async function isDirectory(path: string): Promise<boolean> {
  try {
    const facts = await call<Stats>(done => stat(path, done))
    if (facts.isDirectory()) return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    // Further up lies the file that is in the way.
    if (code === 'ENOTDIR') return isDirectory(dirname(path))
    throw error
  }
  throw Object.assign(new Error(`ENOTDIR: not a directory, mkdir '${path}'`), {
    code: 'ENOTDIR',
    syscall: 'mkdir',
    path,
  })
}

async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory; its file systems journal names by themselves.
  if (process.platform === 'win32') return
  const fd = await call<number>(done => openFile(path, constants.O_RDONLY, done))
  try {
    await call<void>(done => fsync(fd, done))
  } finally {
    // Waits for nothing, and spares another thread being woken.
    closeSync(fd)
  }
}

async function space(path: string): Promise<DiskSpace> {
  const facts = await call<StatsFs>(done => statfs(path, done))
  const { dev } = await call<Stats>(done => stat(path, done))
  return {
    device: dev,
    totalBytes: facts.blocks * facts.bsize,
    freeBytes: facts.bavail * facts.bsize,
    reservedBytes: Math.max(0, facts.bfree - facts.bavail) * facts.bsize,
    freeInodes: facts.ffree,
  }
}

/**
 * One open file. A class, because reads and writes through it are the hot path. The descriptor is closed only when nothing
 * uses it any more: the system gives its number to the next file that is opened, and a late write would land there.
 */
class SystemFile implements DiskFile {
  readonly direct: boolean
  readonly synchronous: boolean
  readonly #fd: number
  readonly #closesHere: boolean
  #pending = 0
  #closing: Promise<void> | undefined
  #onIdle: (() => void) | undefined

  constructor(fd: number, direct: boolean, { synchronous, staysWhileOpen }: OpenOptions) {
    this.#fd = fd
    this.#closesHere = staysWhileOpen === true
    this.direct = direct
    this.synchronous = isLinux && synchronous === true
  }

  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    return this.#use<number>(done => {
      let total = 0
      const step = () => {
        readFile(this.#fd, buffer, offset + total, length - total, position + total, (error, count) => {
          if (error) return done(error)
          total += count
          // A direct read that ends within a block has met the end of the file: going on there would be misaligned.
          if (count === 0 || total === length || (this.direct && total % 4096 !== 0)) done(null, total)
          else step()
        })
      }
      step()
    })
  }

  write(buffer: Uint8Array, offset: number, length: number, position: number): Promise<void> {
    return this.#use<void>(done => {
      let total = 0
      const step = () => {
        writeFile(this.#fd, buffer, offset + total, length - total, position + total, (error, count) => {
          if (error) return done(error)
          total += count
          if (total === length) done(null)
          else if (count === 0) done(Object.assign(new Error('write returned 0 bytes'), { code: 'EIO' }))
          else step()
        })
      }
      step()
    })
  }

  datasync(): Promise<void> {
    return this.#use<void>(done => fdatasync(this.#fd, done))
  }

  truncate(size: number): Promise<void> {
    return this.#use<void>(done => ftruncate(this.#fd, size, done))
  }

  async size(): Promise<number> {
    return (await this.#use<{ size: number }>(done => fstat(this.#fd, done))).size
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeWhenIdle()
    return this.#closing
  }

  async #closeWhenIdle(): Promise<void> {
    if (this.#pending > 0) {
      await new Promise<void>(resolve => {
        this.#onIdle = resolve
      })
    }
    if (this.#closesHere) closeSync(this.#fd)
    else await call<void>(done => close(this.#fd, done))
  }

  #use<T>(run: (done: Done<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closing !== undefined) {
        reject(Object.assign(new Error('the file is closed'), { code: 'EBADF' }))
        return
      }
      this.#pending++
      run((error, value) => {
        if (--this.#pending === 0) this.#onIdle?.()
        if (error) reject(error)
        else resolve(value as T)
      })
    })
  }
}
