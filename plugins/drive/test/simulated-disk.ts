/**
 * A disk in memory that does what real ones may do, decided by a seed: operations end in any order; a power loss drops or tears
 * every write that no sync has covered, sector by sector and in any order, and every name that no directory sync has covered;
 * writes fail for want of space or with an input/output error, and leave parts behind.
 *
 * What it does not model: damage to sectors that were not being written (see `flipBit`), and directories that are lost (they are
 * durable when created).
 */
import type { SeededRandom } from 'svc/testing'
import type { Disk, DiskFile, DiskSpace, OpenOptions } from '../disk.ts'

export interface SimulatedDiskOptions {
  readonly random: SeededRandom
  /** Granularity of what reaches the disk in one piece. Default 512 or 4096, by the seed. */
  readonly sectorBytes?: 512 | 4096
  readonly capacityBytes?: number
  /** Whether O_DIRECT is to be had. Default by the seed. */
  readonly direct?: boolean
}

type Change =
  | { readonly kind: 'write'; readonly position: number; readonly bytes: Buffer }
  | { readonly kind: 'size'; readonly size: number }

interface PendingChange {
  readonly change: Change
  isDone: boolean
}

const pageBytes = 4096
const zeros = Buffer.alloc(pageBytes)

/** In pages that are never changed once they are there, only replaced: several contents share them, and a copy costs next to nothing. */
class Content {
  /** Undefined: nothing was written there. */
  #pages: (Buffer | undefined)[] = []
  size = 0

  /** Keeps parts of the change's bytes: nobody may write into them afterwards. */
  apply(change: Change): void {
    if (change.kind === 'size') {
      if (change.size < this.size) this.#cut(change.size)
      this.size = change.size
      return
    }
    const { position, bytes } = change
    for (let at = 0; at < bytes.length; ) {
      const within = (position + at) % pageBytes
      const count = Math.min(bytes.length - at, pageBytes - within)
      this.#set(position + at - within, within, bytes.subarray(at, at + count))
      at += count
    }
    this.size = Math.max(this.size, position + bytes.length)
  }

  #set(pageStart: number, within: number, part: Buffer): void {
    const number = pageStart / pageBytes
    if (part.length === pageBytes) {
      this.#pages[number] = part
      return
    }
    const page = Buffer.from(this.#pages[number] ?? zeros)
    part.copy(page, within)
    this.#pages[number] = page
  }

  #cut(size: number): void {
    const rest = size % pageBytes
    const last = Math.floor(size / pageBytes)
    this.#pages.length = Math.min(this.#pages.length, rest === 0 ? last : last + 1)
    const page = this.#pages[last]
    if (page !== undefined) this.#pages[last] = Buffer.concat([page.subarray(0, rest)], pageBytes)
  }

  /** Bytes up to the end of the file; returns how many. */
  read(buffer: Uint8Array, offset: number, length: number, position: number): number {
    const count = Math.max(0, Math.min(length, this.size - position))
    for (let at = 0; at < count; ) {
      const within = (position + at) % pageBytes
      const part = Math.min(count - at, pageBytes - within)
      const page = this.#pages[(position + at - within) / pageBytes] ?? zeros
      buffer.set(page.subarray(within, within + part), offset + at)
      at += part
    }
    return count
  }

  flipBit(offset: number, bit: number): void {
    const byte = Buffer.alloc(1)
    if (this.read(byte, 0, 1, offset) === 0) return
    byte[0]! ^= 1 << bit
    this.apply({ kind: 'write', position: offset, bytes: byte })
  }

  become(other: Content): void {
    this.#pages = other.#pages.slice()
    this.size = other.size
  }
}

class Inode {
  /** What reads see. */
  readonly current = new Content()
  /** What a power loss leaves for certain. */
  readonly durable = new Content()
  /** What lies between, in order. `isDone` when the operation has ended: only then does a sync that follows cover it. */
  pending: PendingChange[] = []
  links = 0
}

/** Names that change together: a rename is one of these. */
type NameChange = readonly { readonly path: string; readonly inode: Inode | undefined }[]

interface PendingName {
  readonly folder: string
  readonly change: NameChange
}

export class SimulatedDisk {
  readonly #random: SeededRandom
  readonly #sectorBytes: number
  readonly #hasDirect: boolean
  #names = new Map<string, Inode>()
  #durableNames = new Map<string, Inode>()
  #pendingNames: PendingName[] = []
  readonly #folders = new Set<string>(['/'])
  #waiting: (() => void)[] = []
  #isPumping = false
  #life = 0
  capacityBytes: number
  /** Probability with which a write or a sync fails with EIO. */
  errorRate = 0
  /** Whether `space` tells the truth; a quota does not show there, and writes fail without a warning. */
  tellsSpace = true
  operations = 0
  /** Writes that found no space. */
  refusals = 0

  constructor(options: SimulatedDiskOptions) {
    this.#random = options.random
    this.#sectorBytes = options.sectorBytes ?? this.#random.pick([512, 4096])
    this.#hasDirect = options.direct ?? this.#random.float() < 0.5
    this.capacityBytes = options.capacityBytes ?? 2 ** 40
  }

  /** The disk as a process has it, until `crash` or `losePower`: what a process does after its end has no effect. */
  connect(): Disk {
    const life = this.#life
    const alive = <T>(run: () => Promise<T>): Promise<T> =>
      life === this.#life ? run() : new Promise<T>(() => undefined)
    return {
      open: (path, options) => alive(() => this.#open(path, options)),
      makeDirectory: path => alive(() => this.#makeDirectory(path)),
      list: path => alive(() => this.#list(path)),
      exists: path => alive(() => this.#exists(path)),
      rename: (from, to) => alive(() => this.#move(from, to)),
      remove: path => alive(() => this.#remove(path)),
      syncDirectory: path => alive(() => this.#syncDirectory(path)),
      space: () => alive(() => this.#space()),
    }
  }

  /** The process ends: what it wrote stays, its files close, its operations never end. */
  crash(): void {
    this.#life++
    this.#waiting = []
    for (const inode of this.#inodes()) for (const pending of inode.pending) pending.isDone = true
  }

  #inodes(): Set<Inode> {
    return new Set([...this.#names.values(), ...this.#durableNames.values()])
  }

  /** The machine stops: only what was synced is sure to be there again. */
  losePower(): void {
    this.crash()
    const inodes = this.#inodes()
    const skipped = new Set<string>()
    for (const { change } of this.#pendingNames) {
      // A later change of a name cannot survive an earlier one that did not.
      const survives = this.#random.float() < 0.5 && !change.some(({ path }) => skipped.has(path))
      for (const { path, inode } of change) {
        if (!survives) skipped.add(path)
        else if (inode === undefined) this.#durableNames.delete(path)
        else this.#durableNames.set(path, inode)
      }
    }
    this.#pendingNames = []
    this.#names = new Map(this.#durableNames)
    for (const inode of inodes) {
      for (const { change } of inode.pending) this.#tear(inode.durable, change)
      inode.pending = []
      inode.current.become(inode.durable)
    }
  }

  /** Lets each sector of a change reach the disk, or not. */
  #tear(content: Content, change: Change): void {
    const luck = this.#random.float()
    if (luck < 0.3) return
    if (change.kind === 'size' || luck > 0.7) {
      content.apply(change)
      return
    }
    for (let at = 0; at < change.bytes.length; ) {
      const position = change.position + at
      const count = Math.min(change.bytes.length - at, this.#sectorBytes - (position % this.#sectorBytes))
      if (this.#random.float() < 0.5) {
        content.apply({ kind: 'write', position, bytes: change.bytes.subarray(at, at + count) })
      }
      at += count
    }
  }

  /** Damages one bit of a file, everywhere. */
  flipBit(path: string, offset: number, bit = 0): void {
    const inode = this.#find(path)
    for (const content of [inode.current, inode.durable]) content.flipBit(offset, bit)
  }

  /** Names of files below a folder. */
  files(folder: string): string[] {
    return [...this.#names.keys()].filter(path => path.startsWith(`${folder}/`)).sort()
  }

  sizeOf(path: string): number {
    return this.#find(path).current.size
  }

  usedBytes(): number {
    let used = 0
    for (const inode of new Set(this.#names.values())) used += inode.current.size
    return used
  }

  #find(path: string): Inode {
    const inode = this.#names.get(path)
    if (inode === undefined) throw failure('ENOENT', path)
    return inode
  }

  /** Ends an operation at some later time, if the process still lives then. */
  #later<T>(run: () => T): Promise<T> {
    this.operations++
    return new Promise((resolve, reject) => {
      const finish = () => {
        try {
          resolve(run())
        } catch (error) {
          reject(error)
        }
      }
      this.#waiting.push(finish)
      this.#pump()
    })
  }

  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    setImmediate(() => {
      this.#isPumping = false
      for (let count = 1 + this.#random.integer(3); count > 0 && this.#waiting.length > 0; count--) {
        const [next] = this.#waiting.splice(this.#random.integer(this.#waiting.length), 1)
        next!()
      }
      if (this.#waiting.length > 0) this.#pump()
    })
  }

  #rename(change: NameChange): void {
    for (const { path, inode } of change) {
      if (inode === undefined) this.#names.delete(path)
      else this.#names.set(path, inode)
    }
    this.#pendingNames.push({ folder: folderOf(change[0]!.path), change })
  }

  #open(path: string, options: OpenOptions): Promise<DiskFile> {
    return this.#later(() => {
      let inode = this.#names.get(path)
      if (inode === undefined) {
        if (options.mode !== 'create') throw failure('ENOENT', path)
        if (!this.#folders.has(folderOf(path))) throw failure('ENOENT', path)
        if (this.usedBytes() >= this.capacityBytes) throw failure('ENOSPC', path)
        inode = new Inode()
        this.#rename([{ path, inode }])
      } else if (options.exclusive) throw failure('EEXIST', path)
      return this.#file(inode, path, options)
    })
  }

  #file(inode: Inode, path: string, options: OpenOptions): DiskFile {
    const direct = options.direct === true && this.#hasDirect
    const synchronous = options.synchronous === true
    let isClosed = false
    const check = (isAligned = true): void => {
      if (isClosed) throw failure('EBADF', path)
      if (direct && !isAligned) throw failure('EINVAL', path)
    }
    const aligned = (...values: number[]) => values.every(value => value % 4096 === 0)
    const life = this.#life
    const alive = <T>(run: () => Promise<T>): Promise<T> =>
      life === this.#life ? run() : new Promise<T>(() => undefined)
    const file: DiskFile = {
      direct,
      synchronous,
      read: (buffer, offset, length, position) =>
        this.#later(() => {
          check(aligned(length, position))
          return inode.current.read(buffer, offset, length, position)
        }),
      write: async (buffer, offset, length, position) => {
        // The bytes are taken now and reach the disk some time before the end: in between, the power may go.
        const bytes = Buffer.from(buffer.subarray(offset, offset + length))
        const change = { kind: 'write', position, bytes } as const
        check(aligned(offset, length, position))
        const grows = Math.max(0, position + length - inode.current.size)
        const code =
          grows > 0 && this.usedBytes() + grows > this.capacityBytes
            ? 'ENOSPC'
            : this.#random.float() < this.errorRate
              ? 'EIO'
              : undefined
        if (code === 'ENOSPC') this.refusals++
        if (code !== undefined) {
          await this.#later(() => {
            this.#leavePart(inode, change)
            throw failure(code, path)
          })
        }
        const pending = { change, isDone: false }
        inode.current.apply(change)
        inode.pending.push(pending)
        await this.#later(() => {
          check()
          pending.isDone = true
          if (synchronous) this.#sync(inode, inode.pending.slice(0, inode.pending.indexOf(pending) + 1))
        })
      },
      datasync: async () => {
        check()
        const covered = inode.pending.filter(({ isDone }) => isDone)
        await this.#later(() => {
          if (this.#random.float() < this.errorRate) {
            // The kernel counts the pages as clean after this: reads see them, the disk may never.
            for (const { change } of covered) this.#tear(inode.durable, change)
            inode.pending = inode.pending.filter(pending => !covered.includes(pending))
            throw failure('EIO', path)
          }
          this.#sync(inode, covered)
        })
      },
      truncate: async size => {
        check()
        const change = { kind: 'size', size } as const
        await this.#later(() => {
          check()
          inode.current.apply(change)
          inode.pending.push({ change, isDone: true })
        })
      },
      size: () => this.#later(() => inode.current.size),
      close: () => {
        isClosed = true
        return this.#later(() => undefined)
      },
    }
    return {
      direct,
      synchronous,
      read: (...args) => alive(() => file.read(...args)),
      write: (...args) => alive(() => file.write(...args)),
      datasync: () => alive(file.datasync),
      truncate: size => alive(() => file.truncate(size)),
      size: () => alive(file.size),
      close: () => alive(file.close),
    }
  }

  #sync(inode: Inode, covered: readonly PendingChange[]): void {
    for (const { change } of covered) inode.durable.apply(change)
    inode.pending = inode.pending.filter(pending => !covered.includes(pending))
  }

  /** A failed write may have done anything in its range up to the end of the file. */
  #leavePart(inode: Inode, change: Change & { kind: 'write' }): void {
    const length = Math.min(change.bytes.length, Math.max(0, inode.current.size - change.position))
    if (length === 0) return
    const part: Change = { ...change, bytes: change.bytes.subarray(0, this.#random.integer(length + 1)) }
    inode.current.apply(part)
    inode.pending.push({ change: part, isDone: true })
  }

  async #makeDirectory(path: string): Promise<void> {
    for (let folder = path; folder !== '/' && folder !== ''; folder = folderOf(folder)) this.#folders.add(folder)
  }

  #list(path: string): Promise<string[]> {
    return this.#later(() => {
      if (!this.#folders.has(path)) throw failure('ENOENT', path)
      const prefix = path === '/' ? '/' : `${path}/`
      const names = [...this.#names.keys(), ...this.#folders].filter(name => name !== path && name.startsWith(prefix))
      return [...new Set(names.map(name => name.slice(prefix.length)).filter(name => !name.includes('/')))]
    })
  }

  #exists(path: string): Promise<boolean> {
    return this.#later(() => this.#names.has(path) || this.#folders.has(path))
  }

  #move(from: string, to: string): Promise<void> {
    return this.#later(() => {
      const inode = this.#find(from)
      this.#rename([
        { path: to, inode },
        { path: from, inode: undefined },
      ])
    })
  }

  #remove(path: string): Promise<void> {
    return this.#later(() => {
      this.#find(path)
      this.#rename([{ path, inode: undefined }])
    })
  }

  #syncDirectory(path: string): Promise<void> {
    return this.#later(() => {
      if (this.#random.float() < this.errorRate) throw failure('EIO', path)
      const rest: PendingName[] = []
      for (const pending of this.#pendingNames) {
        if (pending.folder !== path) {
          rest.push(pending)
          continue
        }
        for (const { path: name, inode } of pending.change) {
          if (inode === undefined) this.#durableNames.delete(name)
          else this.#durableNames.set(name, inode)
        }
      }
      this.#pendingNames = rest
    })
  }

  #space(): Promise<DiskSpace> {
    return this.#later(() => ({
      totalBytes: this.capacityBytes,
      freeBytes: this.tellsSpace ? Math.max(0, this.capacityBytes - this.usedBytes()) : 2 ** 40,
      reservedBytes: 0,
      freeInodes: 1_000_000,
    }))
  }
}

function folderOf(path: string): string {
  const cut = path.lastIndexOf('/')
  return cut <= 0 ? '/' : path.slice(0, cut)
}

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code })
}
