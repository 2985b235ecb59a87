/** The simulated hardware of one drive: a disk and an index in memory that can be removed, fail, lose power and be replaced. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Disk, DiskFile } from 'svc/plugins/drive/api'
import { SimulatedDisk, SimulatedIndex } from 'svc/plugins/drive/testing'
import type { SeededRandom } from 'svc/testing'

export class SimulatedHardware {
  readonly path: string
  readonly #random: SeededRandom
  readonly #capacityBytes: number
  disk!: SimulatedDisk
  index!: SimulatedIndex
  /** The folder is not there. */
  isAbsent = false
  /** Every operation fails. */
  isBroken = false
  /** No operation is answered, whether it is done or not. */
  #isHanging = false
  #released: (() => void)[] = []
  /** Operations of this life that have not ended. */
  #inFlight = 0
  #connection!: Disk
  /** Number of the connection: files that were opened in an earlier one fail. */
  #number = 0

  constructor(path: string, random: SeededRandom, capacityBytes: number) {
    this.path = path
    this.#random = random
    this.#capacityBytes = capacityBytes
    this.replace()
  }

  /** Puts an empty folder in its place. */
  replace(): void {
    this.disk = new SimulatedDisk({ random: this.#random, capacityBytes: this.#capacityBytes })
    void this.disk.connect().makeDirectory(this.path)
    this.index = new SimulatedIndex(this.#random)
    this.connect()
  }

  connect(): void {
    this.#connection = this.disk.connect()
    this.#inFlight = 0
    this.#number++
    this.isBroken = false
    // Operations of an earlier process are never answered.
    this.#released = []
    this.index.stall = () => this.#answering()
  }

  get isHanging(): boolean {
    return this.#isHanging
  }

  set isHanging(isHanging: boolean) {
    this.#isHanging = isHanging
    if (!isHanging) for (const release of this.#released.splice(0)) release()
  }

  #answering(): Promise<void> {
    if (!this.#isHanging) return Promise.resolve()
    return new Promise(resolve => {
      this.#released.push(resolve)
    })
  }

  /** Ends the process, or cuts its power; operations that were running never end. */
  crash(kind: 'power' | 'process'): void {
    this.disk.errorRate = 0
    this.index.failureRate = 0
    if (kind === 'power') {
      this.disk.losePower()
      this.index.losePower()
    } else {
      this.disk.crash()
      this.index.crash()
    }
    this.connect()
  }

  breakDown(): void {
    this.isBroken = true
    this.index.failureRate = 1
  }

  /** What a folder says about the drive in it. */
  get isFormatted(): boolean {
    return this.disk.files(this.path).includes(`${this.path}/format.json`)
  }

  get isIdle(): boolean {
    return this.#inFlight === 0 && this.index.isIdle
  }

  /** After `breakDown`. Loses its power only while nobody has it open. */
  mend(losesPower: boolean): void {
    this.index.failureRate = 0
    if (losesPower) this.crash('power')
    else this.isBroken = false
  }

  squeeze(isFull: boolean): void {
    this.disk.capacityBytes = isFull ? this.disk.usedBytes() : this.#capacityBytes
    this.index.failureRate = isFull ? 0.5 : 0
  }

  async run<T>(operation: (disk: Disk) => Promise<T>, number = this.#number): Promise<T> {
    if (this.isAbsent) throw failure('ENOENT')
    if (this.isBroken || number !== this.#number) {
      await turn()
      throw failure('EIO')
    }
    this.#inFlight++
    try {
      if (this.#isHanging && this.#random.float() < 0.5) await this.#answering()
      return await operation(this.#connection)
    } finally {
      if (this.#isHanging) await this.#answering()
      if (number === this.#number) this.#inFlight--
    }
  }

  get number(): number {
    return this.#number
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}

/** The disks of all drives as one tree, for one life of the process. */
export function connectAll(drives: readonly SimulatedHardware[], isAlive: () => boolean): Disk {
  const at = (path: string) => drives.find(drive => path === drive.path || path.startsWith(`${drive.path}/`))
  const on = <T>(path: string, operation: (disk: Disk) => Promise<T>): Promise<T> => {
    // What a process does after its end is ignored.
    if (!isAlive()) return new Promise(() => undefined)
    const drive = at(path)
    return drive === undefined ? Promise.reject(failure('ENOENT')) : drive.run(operation)
  }
  return {
    async open(path, options) {
      if (!isAlive()) return new Promise(() => undefined)
      const drive = at(path)
      if (drive === undefined) throw failure('ENOENT')
      const { number } = drive
      const file = await drive.run(disk => disk.open(path, options))
      const run = <T>(operation: () => Promise<T>) => drive.run(operation, number)
      const wrapped: DiskFile = {
        direct: file.direct,
        synchronous: file.synchronous,
        read: (...args) => run(() => file.read(...args)),
        write: (...args) => run(() => file.write(...args)),
        datasync: () => run(() => file.datasync()),
        truncate: size => run(() => file.truncate(size)),
        size: () => run(() => file.size()),
        close: () => run(() => file.close()),
      }
      return wrapped
    },
    makeDirectory: path => on(path, disk => disk.makeDirectory(path)),
    list: path => on(path, disk => disk.list(path)),
    exists: async path => {
      if (path.endsWith('/.') || path === '/') return true
      if (at(path)?.isAbsent !== false) return false
      return on(path, disk => disk.exists(path))
    },
    rename: (from, to) => on(from, disk => disk.rename(from, to)),
    remove: path => on(path, disk => disk.remove(path)),
    syncDirectory: path => on(path, disk => disk.syncDirectory(path)),
    space: async path =>
      at(path) === undefined
        ? { totalBytes: 2 ** 40, freeBytes: 2 ** 40, reservedBytes: 0, freeInodes: 1e6 }
        : on(path, disk => disk.space(path)),
  }
}
