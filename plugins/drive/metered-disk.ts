/** A disk whose operations, their times and their failures are counted, per drive and thread. */
import type { Disk, DiskFile } from './disk.ts'

/** `write` includes the sync of files that are opened synchronously; `stat` is any question that reads no file. */
export const diskOperations = ['read', 'write', 'sync', 'open', 'list', 'rename', 'remove', 'truncate', 'stat'] as const
type DiskOperation = (typeof diskOperations)[number]

/** `read_only`: the file system takes no writes, as after an error of the device. */
export const diskErrorTypes = ['io', 'full', 'read_only', 'permission', 'other'] as const

const op = Object.fromEntries(diskOperations.map((name, index) => [name, index])) as Record<DiskOperation, number>
const typeByCode: Readonly<Record<string, number>> = { EIO: 0, ENOSPC: 1, EDQUOT: 1, EROFS: 2, EACCES: 3, EPERM: 3 }
/** A file that is there or is not is an answer; so is a direct open that the file system does not know. */
const answers = new Set(['ENOENT', 'EEXIST', 'ENOTDIR', 'EINVAL', 'EBADF'])

export class DiskMeter {
  /** By index of `diskOperations`. */
  readonly counts = new Float64Array(diskOperations.length)
  readonly milliseconds = new Float64Array(diskOperations.length)
  /** By index of `diskErrorTypes`. */
  readonly errors = new Float64Array(diskErrorTypes.length)

  watch<T>(operation: number, running: Promise<T>): Promise<T> {
    const startedMs = performance.now()
    running.then(
      () => this.#end(operation, startedMs),
      (error: { readonly code?: string } | undefined) => {
        this.#end(operation, startedMs)
        const code = error?.code ?? ''
        if (!answers.has(code)) this.errors[typeByCode[code] ?? diskErrorTypes.length - 1]++
      },
    )
    return running
  }

  #end(operation: number, startedMs: number): void {
    this.counts[operation]++
    this.milliseconds[operation] += performance.now() - startedMs
  }
}

export function meteredDisk(disk: Disk, meter: DiskMeter): Disk {
  return {
    open: async (path, options) => new MeteredFile(await meter.watch(op.open, disk.open(path, options)), meter),
    makeDirectory: path => disk.makeDirectory(path),
    list: path => meter.watch(op.list, disk.list(path)),
    exists: path => meter.watch(op.stat, disk.exists(path)),
    rename: (from, to) => meter.watch(op.rename, disk.rename(from, to)),
    remove: path => meter.watch(op.remove, disk.remove(path)),
    syncDirectory: path => meter.watch(op.sync, disk.syncDirectory(path)),
    space: path => meter.watch(op.stat, disk.space(path)),
    ...(disk.deviceOf === undefined ? undefined : { deviceOf: path => meter.watch(op.stat, disk.deviceOf!(path)) }),
  }
}

class MeteredFile implements DiskFile {
  readonly direct: boolean
  readonly synchronous: boolean
  readonly #file: DiskFile
  readonly #meter: DiskMeter

  constructor(file: DiskFile, meter: DiskMeter) {
    this.#file = file
    this.#meter = meter
    this.direct = file.direct
    this.synchronous = file.synchronous
  }

  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    return this.#meter.watch(op.read, this.#file.read(buffer, offset, length, position))
  }

  write(buffer: Uint8Array, offset: number, length: number, position: number): Promise<void> {
    return this.#meter.watch(op.write, this.#file.write(buffer, offset, length, position))
  }

  datasync(): Promise<void> {
    return this.#meter.watch(op.sync, this.#file.datasync())
  }

  truncate(size: number): Promise<void> {
    return this.#meter.watch(op.truncate, this.#file.truncate(size))
  }

  size(): Promise<number> {
    return this.#meter.watch(op.stat, this.#file.size())
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
