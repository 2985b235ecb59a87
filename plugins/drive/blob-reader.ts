/**
 * Reads a range of a blob in verified chunks of up to two blocks, and reads ahead while the caller processes a chunk. Every block
 * is verified against its checksum before the caller gets it. Buffers come from a pool per thread; beyond the pool's bound a
 * reader works with one buffer at a time, so many slow readers cost little memory each.
 */
import { crc32 } from '@node-rs/crc32'
import { LRUCache } from 'lru-cache'
import type { BlobChunk, BlobReader, BlobRef } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { anyBlobCheck } from './api.ts'
import type { BlobFiles } from './blob-files.ts'
import { blobBlockBytes, decodeFooter, footerBytes, footerOffset } from './blob-format.ts'
import { explainUnreadable, type NoteDamage } from './damage.ts'
import type { Disk, DiskFile } from './disk.ts'

const chunkBytesMax = 2 * blobBlockBytes
const readAheadMax = 2
/**
 * Sizes of buffers. The smaller one is for the short shards of medium objects: in long buffers the pool would have room for few
 * of them.
 */
const bufferSizes = [blobBlockBytes / 2, chunkBytesMax] as const
const tableCacheBytes = 4 * 1024 * 1024

/** State shared by the readers of one thread: buffers and tables of checksums. */
export class BlobReading {
  readonly disk: Disk
  readonly files: BlobFiles
  /** See `explainUnreadable`. */
  readonly noteDamage: NoteDamage | undefined
  readonly tables: LRUCache<string, Buffer>
  /** Free buffers by size. */
  readonly #free: ReadonlyMap<number, Buffer[]> = new Map(bufferSizes.map(size => [size, []]))
  readonly #bytesMax: number
  #lentBytes = 0
  #freeBytes = 0

  constructor(disk: Disk, files: BlobFiles, bytesMax: number, noteDamage?: NoteDamage) {
    this.disk = disk
    this.files = files
    this.noteDamage = noteDamage
    this.#bytesMax = Math.max(chunkBytesMax, bytesMax)
    this.tables = new LRUCache({ maxSize: tableCacheBytes, sizeCalculation: table => table.length + 200 })
  }

  get hasSpare(): boolean {
    return this.#lentBytes + chunkBytesMax <= this.#bytesMax
  }

  /** A buffer of at least `length` bytes, which is at most `chunkBytesMax`. */
  lend(length: number): Buffer {
    const size = length <= bufferSizes[0] ? bufferSizes[0] : bufferSizes[1]
    this.#lentBytes += size
    const free = this.#free.get(size)!.pop()
    if (free === undefined) return Buffer.allocUnsafeSlow(size)
    this.#freeBytes -= size
    return free
  }

  takeBack(buffer: Buffer): void {
    const size = buffer.length
    this.#lentBytes -= size
    // The bound counts both sizes: free buffers of the other size are dropped to make room.
    const others = this.#free.get(size === bufferSizes[0] ? bufferSizes[1] : bufferSizes[0])!
    while (this.#freeBytes + this.#lentBytes + size > this.#bytesMax) {
      const other = others.pop()
      if (other === undefined) return
      this.#freeBytes -= other.length
    }
    this.#free.get(size)!.push(buffer)
    this.#freeBytes += size
  }
}

interface ReadAhead {
  readonly chunk: Promise<BlobChunk>
}

export class DriveBlobReader implements BlobReader {
  readonly #shared: BlobReading
  readonly #ref: BlobRef
  #file: Promise<DiskFile> | undefined
  #table: Promise<Buffer> | undefined
  /** The next byte to read, and the end of the range. */
  #at: number
  readonly #end: number
  readonly #ahead: ReadAhead[] = []
  #isClosed = false
  #underWay = 0

  constructor(shared: BlobReading, ref: BlobRef, start: number, length: number) {
    if (start < 0 || length < 0 || start + length > ref.size) throw new RangeError('the range lies outside of the blob')
    this.#shared = shared
    this.#ref = ref
    this.#at = start
    this.#end = start + length
  }

  next(): Promise<BlobChunk | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined)
    this.#readAhead(true)
    const first = this.#ahead.shift()
    if (first === undefined) {
      this.close()
      return Promise.resolve(undefined)
    }
    this.#readAhead(false)
    return first.chunk
  }

  #readAhead(needed: boolean): void {
    while (this.#at < this.#end && this.#ahead.length < readAheadMax) {
      if (!this.#shared.hasSpare && !(needed && this.#ahead.length === 0)) return
      const start = this.#at
      const blockStart = start - (start % blobBlockBytes)
      const end = Math.min(this.#end, blockStart + chunkBytesMax)
      this.#at = end
      const chunk = this.#read(blockStart, start, end)
      // The consumer of this chunk gets the error later; without a handler it would count as an unhandled rejection.
      chunk.catch(() => undefined)
      this.#ahead.push({ chunk })
    }
  }

  /** Reads the blocks that contain [start, end) and verifies each. */
  async #read(blockStart: number, start: number, end: number): Promise<BlobChunk> {
    const { size } = this.#ref
    const lastBlock = Math.floor((end - 1) / blobBlockBytes)
    const readEnd = Math.min(size, (lastBlock + 1) * blobBlockBytes)
    const length = readEnd - blockStart
    this.#underWay++
    const buffer = this.#shared.lend(length)
    try {
      this.#file ??= this.#shared.disk.open(this.#shared.files.pathOf(this.#ref.id), { mode: 'read' })
      const file = await this.#file
      this.#table ??= this.#readTable(file)
      const [table, count] = await Promise.all([this.#table, file.read(buffer, 0, length, blockStart)])
      if (count !== length) throw this.#corrupt('it is too short')
      for (let at = 0; at < length; at += blobBlockBytes) {
        const block = (blockStart + at) / blobBlockBytes
        const bytes = buffer.subarray(at, Math.min(length, at + blobBlockBytes))
        if (crc32(bytes) !== table.readUInt32LE(block * 4))
          throw this.#corrupt(`block ${block} does not match its checksum`)
      }
      let isReleased = false
      return {
        bytes: buffer.subarray(start - blockStart, end - blockStart),
        release: () => {
          if (isReleased) return
          isReleased = true
          this.#shared.takeBack(buffer)
        },
      }
    } catch (error) {
      this.#shared.takeBack(buffer)
      throw await explainUnreadable(error, { blobId: this.#ref.id }, this.#shared.noteDamage)
    } finally {
      this.#underWay--
      if (this.#isClosed) this.#closeFile()
    }
  }

  async #readTable(file: DiskFile): Promise<Buffer> {
    const { tables } = this.#shared
    const { id, size, check } = this.#ref
    // The cached table may be of a file that has been replaced since; only the check in the reference can tell.
    const cached = check === anyBlobCheck ? undefined : tables.get(id)
    if (cached !== undefined && crc32(cached) === check) return cached
    const footer = Buffer.allocUnsafeSlow(footerBytes(size))
    const count = await file.read(footer, 0, footer.length, footerOffset(size))
    const table = count === footer.length ? decodeFooter(footer, size, check) : undefined
    if (table === undefined) throw this.#corrupt('its table of checksums does not verify')
    if (check !== anyBlobCheck) tables.set(id, table)
    return table
  }

  #corrupt(detail: string) {
    return storageErrors.corrupt(`Blob ${this.#ref.id} is damaged: ${detail}.`)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const { chunk } of this.#ahead) {
      chunk.then(
        ({ release }) => release(),
        () => undefined,
      )
    }
    this.#ahead.length = 0
    if (this.#underWay === 0) this.#closeFile()
  }

  #closeFile(): void {
    if (this.#underWay > 0) return
    const file = this.#file
    this.#file = undefined
    // Closing a file that was only read cannot lose data.
    file?.then(open => open.close()).catch(() => undefined)
  }
}
