/**
 * A disk with a bounded number of concurrent operations; further ones wait. Each operation occupies a thread of libuv's pool until it
 * ends: without the bound, a drive that hangs would soon occupy all threads and block every other drive. Used for each drive of a set.
 */
import type { Threads } from 'svc/kernel'
import type { Disk, DiskFile } from 'svc/plugins/drive/api'

/** Size of libuv's pool where neither the environment nor `svc` sets it. */
const poolThreadsDefault = 4

/** Threads for all that is not on a drive of a set, such as settings, names of hosts and passwords. */
const reservedThreads = 8

/**
 * For one drive and one thread of ours: an equal share, so that the others go on, however many hang. The index of each drive occupies another thread
 * while it commits. A pool that is too small for that leaves one thread to the others.
 */
export function operationsMaxOf(driveCount: number, { workerCount }: Pick<Threads, 'workerCount'>): number {
  const poolThreads = Number(process.env.UV_THREADPOOL_SIZE) || poolThreadsDefault
  const share = Math.floor((poolThreads - reservedThreads) / driveCount) - 1
  return Math.max(1, Math.floor((share > 0 ? share : poolThreads - 1) / (1 + workerCount)))
}

class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  run<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#free === 0) {
      return new Promise<void>(resolve => {
        this.#waiting.push(resolve)
      }).then(() => this.#begin(operation))
    }
    this.#free--
    return this.#begin(operation)
  }

  #begin<T>(operation: () => Promise<T>): Promise<T> {
    const running = operation()
    running.then(this.#end, this.#end)
    return running
  }

  readonly #end = (): void => {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}

/** For one drive. */
export function boundedDisk(disk: Disk, operationsMax: number): Disk {
  const turns = new Turns(operationsMax)
  return {
    open: async (path, options) => new BoundedFile(await turns.run(() => disk.open(path, options)), turns),
    makeDirectory: path => turns.run(() => disk.makeDirectory(path)),
    list: path => turns.run(() => disk.list(path)),
    exists: path => turns.run(() => disk.exists(path)),
    rename: (from, to) => turns.run(() => disk.rename(from, to)),
    remove: path => turns.run(() => disk.remove(path)),
    syncDirectory: path => turns.run(() => disk.syncDirectory(path)),
    space: path => turns.run(() => disk.space(path)),
    ...(disk.deviceOf === undefined ? undefined : { deviceOf: path => turns.run(() => disk.deviceOf!(path)) }),
  }
}

class BoundedFile implements DiskFile {
  readonly #file: DiskFile
  readonly #turns: Turns

  constructor(file: DiskFile, turns: Turns) {
    this.#file = file
    this.#turns = turns
  }

  get direct(): boolean {
    return this.#file.direct
  }

  get synchronous(): boolean {
    return this.#file.synchronous
  }

  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    return this.#turns.run(() => this.#file.read(buffer, offset, length, position))
  }

  write(buffer: Uint8Array, offset: number, length: number, position: number): Promise<void> {
    return this.#turns.run(() => this.#file.write(buffer, offset, length, position))
  }

  datasync(): Promise<void> {
    return this.#turns.run(() => this.#file.datasync())
  }

  truncate(size: number): Promise<void> {
    return this.#turns.run(() => this.#file.truncate(size))
  }

  size(): Promise<number> {
    return this.#turns.run(() => this.#file.size())
  }

  close(): Promise<void> {
    return this.#turns.run(() => this.#file.close())
  }
}
