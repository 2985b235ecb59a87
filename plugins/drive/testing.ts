/**
 * For simulations: drives over in-memory disks and indexes, which lose on a simulated power loss what real ones may lose. Used by
 * the tests of the drive, of erasure sets and of pools.
 */
import { isAbsolute } from 'node:path'
import type { DrivesService } from 'svc/plugins/drive/api'
import { createSystemPorts, type SeededRandom } from 'svc/testing'
import { BlobIds } from './blob-files.ts'
import { type DriveConfig, shareOfConfig } from './config.ts'
import type { Disk, DrivePorts } from './disk.ts'
import { type IndexRange, type IndexStore, type IndexTable, indexTables } from './index-store.ts'
import { noLock } from './lock.ts'
import { createOwnedDrive, type OpenDrive } from './owned-drive.ts'
import { checkDrive, lookAtDrive, peekDrive, peekScanDrive } from './preflight.ts'
import { createSystemDisk } from './system-disk.ts'

export type { OpenDrive } from './owned-drive.ts'
export * from './system-disk.ts'
export * from './test/simulated-disk.ts'

/** The real ports of a drive. */
export const systemDrivePorts = (): DrivePorts => ({ ...createSystemPorts(), disk: createSystemDisk() })

/** Configuration for a `SimulatedDisk`: small files, so that segments are created and removed often, and short intervals. */
export const simulatedDriveConfig: DriveConfig = {
  segmentBytes: 64 * 1024,
  cacheBytes: 20_000,
  blobBufferBytes: 1024 * 1024,
  readBufferBytes: 1024 * 1024,
  reserveBytes: 64 * 1024,
  checkpointIntervalMs: 20,
  compactionBytesPerSecond: 2 ** 40,
  indexCheckIntervalMs: 0,
  journalCheckIntervalMs: 0,
  directIo: true,
}

export interface SimulatedDrives {
  readonly service: DrivesService
  /** Open drives, for their background work. */
  readonly open: ReadonlySet<OpenDrive>
}

export interface SimulatedDrivesOptions {
  readonly config: DriveConfig
  readonly batchBytes: number
  readonly readWindowMs: number
  readonly disk: Disk
  /** The index of the drive in this folder. */
  indexOf(path: string): SimulatedIndex
}

/** The drives of one run of a simulated process, in one thread. No locks are taken. */
export function createSimulatedDrives({ config, disk, indexOf, ...sizes }: SimulatedDrivesOptions): SimulatedDrives {
  const open = new Set<OpenDrive>()
  const folderOf = (indexPath: string) => indexPath.slice(0, indexPath.lastIndexOf('/'))
  const environment = {
    ...sizes,
    lock: () => noLock,
    index: {
      open: async (path: string) => indexOf(folderOf(path)).open(),
      check: async () => ({ problem: undefined, isWhole: true }),
      filesOf: () => [],
      setAside: async (path: string) => indexOf(folderOf(path)).remove(),
      hasAside: async () => false,
      discardAside: async () => undefined,
    },
  }
  return {
    open,
    service: {
      create(options) {
        if (!isAbsolute(options.path)) throw new TypeError(`the path of drive ${options.name} is not absolute`)
        const ports = { ...options.ports, disk: options.disk ?? disk }
        return createOwnedDrive({ ...options, ports }, shareOfConfig(config, options.shareOf ?? 1), open, environment)
      },
      disk,
      look: path => lookAtDrive(disk, path),
      check: path => checkDrive(disk, path),
      peek: (path, key) => peekDrive(disk, path, key),
      peekScan: (path, start, end, visit) => peekScanDrive(disk, path, start, end, visit),
      blobIds(ports) {
        const ids = new BlobIds(ports)
        return () => ids.next()
      },
    },
  }
}

type Write = readonly [table: IndexTable, key: string, value: Buffer | undefined]

class Tables {
  readonly maps = Object.fromEntries(indexTables.map(name => [name, new Map<string, Buffer>()])) as Record<
    IndexTable,
    Map<string, Buffer>
  >
  #sorted: Partial<Record<IndexTable, string[]>> = {}

  apply(writes: readonly Write[]): void {
    for (const [table, key, value] of writes) {
      if (value === undefined) this.maps[table].delete(key)
      else this.maps[table].set(key, value)
    }
    this.#sorted = {}
  }

  sorted(table: IndexTable): readonly string[] {
    this.#sorted[table] ??= [...this.maps[table].keys()].sort()
    return this.#sorted[table]
  }
}

/**
 * An index in memory. After a power loss it is back at its last flushed commit or any later one. It represents the data on the
 * simulated disk; `open` gives access to it for one run of the process.
 */
export class SimulatedIndex {
  readonly #random: SeededRandom
  #flushed = new Tables()
  #commits: Write[][] = []
  #current = new Tables()
  #life = 0
  /** Commits and flushes under way. */
  #underWay = 0
  failureRate = 0
  /** Awaited by commits and flushes before they end. */
  stall: (() => Promise<void>) | undefined
  /** The stored data has been corrupted. */
  isRotten = false

  constructor(random: SeededRandom) {
    this.#random = random
  }

  /** Whether a power loss now would interrupt nothing. */
  get isIdle(): boolean {
    return this.#underWay === 0
  }

  crash(): void {
    this.#life++
    this.#underWay = 0
  }

  losePower(): void {
    this.crash()
    this.#commits.length = this.#random.integer(this.#commits.length + 1)
    this.#settle()
  }

  /** Simulates the loss of the index folder. */
  remove(): void {
    this.#flushed = new Tables()
    this.#commits = []
    this.isRotten = false
    this.#settle()
  }

  /** Corrupts the stored index: removes, duplicates, moves, alters or adds an entry. Only between two runs. */
  rot(): void {
    for (const writes of this.#commits) this.#flushed.apply(writes)
    this.#commits = []
    const table = this.#random.pick([...indexTables])
    const keys = this.#flushed.sorted(table)
    const key = keys.length === 0 ? undefined : this.#random.pick([...keys])
    const value = key === undefined ? Buffer.from([1, 2, 3, 4, 5]) : Buffer.from(this.#flushed.maps[table].get(key)!)
    const luck = this.#random.float()
    const other = `${key ?? 'k'}!`
    if (key === undefined || luck < 0.25) this.#flushed.apply([[table, other, value]])
    else if (luck < 0.5) this.#flushed.apply([[table, key, undefined]])
    else if (luck < 0.75) {
      this.#flushed.apply([
        [table, key, undefined],
        [table, other, value],
      ])
    } else if (value.length > 0) {
      value[this.#random.integer(value.length)]! ^= 1 << this.#random.integer(8)
      this.#flushed.apply([[table, key, value]])
    } else return
    this.isRotten = true
    this.#settle()
  }

  #settle(): void {
    for (const writes of this.#commits) this.#flushed.apply(writes)
    this.#commits = []
    this.#current = new Tables()
    for (const table of indexTables) {
      this.#current.apply([...this.#flushed.maps[table]].map(([key, value]) => [table, key, value] as const))
    }
  }

  /** All entries as text, for comparison. */
  dump(table: IndexTable): string[] {
    return this.#current.sorted(table).map(key => `${key}=${this.#current.maps[table].get(key)!.toString('latin1')}`)
  }

  open(): IndexStore {
    const life = this.#life
    return {
      loss: undefined,
      onLost: undefined,
      get: (table, key) => {
        const value = this.#current.maps[table].get(Buffer.from(key).latin1Slice())
        return value === undefined ? undefined : Buffer.from(value)
      },
      range: (table, start, end) =>
        this.#range(table, Buffer.from(start).latin1Slice(), Buffer.from(end).latin1Slice()),
      commit: async fill => {
        const writes: Write[] = []
        fill((table, key, value) => {
          writes.push([table, Buffer.from(key).latin1Slice(), value === undefined ? undefined : Buffer.from(value)])
        })
        this.#underWay++
        for (let turns = this.#random.integer(4); turns >= 0; turns--) {
          await new Promise<void>(resolve => {
            setImmediate(resolve)
          })
        }
        await this.stall?.()
        // A crash before this point may leave the commit applied or not.
        if (life !== this.#life) return new Promise(() => undefined)
        this.#underWay--
        if (this.#random.float() < this.failureRate) throw new Error('the index cannot be written')
        this.#current.apply(writes)
        this.#commits.push(writes)
      },
      flushed: async () => {
        this.#underWay++
        await new Promise<void>(resolve => {
          setImmediate(resolve)
        })
        await this.stall?.()
        if (life !== this.#life) return new Promise(() => undefined)
        this.#underWay--
        for (const writes of this.#commits) this.#flushed.apply(writes)
        this.#commits = []
      },
      refresh: () => undefined,
      close: async () => undefined,
    }
  }

  #range(table: IndexTable, start: string, end: string): IndexRange {
    const keys = this.#current.sorted(table)
    const map = this.#current.maps[table]
    let at = keys.findIndex(key => key >= start)
    if (at === -1) at = keys.length
    const range = {
      key: Buffer.alloc(0),
      value: Buffer.alloc(0),
      next: () => {
        const key = keys[at++]
        if (key === undefined || key >= end) return false
        range.key = Buffer.from(key, 'latin1')
        range.value = Buffer.from(map.get(key)!)
        return true
      },
      close: () => undefined,
    }
    return range
  }
}
