/**
 * Reads a range of a blob in verified chunks of up to four blocks, and reads ahead while the caller processes a chunk. Every block
 * is verified against its checksum before the caller gets it. Buffers come from a pool per thread; beyond the pool's bound a
 * reader works with one block at a time, so many slow readers cost little memory each.
 */
import { crc32 } from '@node-rs/crc32'
import { LRUCache } from 'lru-cache'
import type { BlobChunk, BlobReader, BlobRef } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { blockBytes } from './aligned-memory.ts'
import { anyBlobCheck } from './api.ts'
import type { BlobFiles } from './blob-files.ts'
import { blobBlockBytes, decodeFooter, footerBytes, footerOffset } from './blob-format.ts'
import { explainUnreadable, type NoteDamage } from './damage.ts'
import type { Disk, DiskFile } from './disk.ts'
import { FreeBuffers } from './free-buffers.ts'

/** Long, because each read is handed to a thread that has to be woken, and each chunk is a write to a socket. */
const chunkBytesMax = 4 * blobBlockBytes
const readAheadMax = 2
/**
 * Sizes of buffers, ascending. The smallest one is for the short shards of medium objects: in long buffers the pool would have room
 * for few of them.
 */
const bufferSizes = [blobBlockBytes / 2, blobBlockBytes, 2 * blobBlockBytes, chunkBytesMax] as const
/**
 * Room behind each buffer for the padding and the table of checksums, so that a last chunk is read together with them. The tables of
 * blobs of more than some 200 MiB are longer, and read by themselves.
 */
const tailBytes = 2 * blockBytes
const tableCacheBytes = 4 * 1024 * 1024

interface KnownTable {
  /** The checksum of the table. */
  readonly check: number
  readonly table: Buffer
}

/** State shared by the readers of one thread: buffers and tables of checksums. */
export class BlobReading {
  readonly disk: Disk
  readonly files: BlobFiles
  /** See `explainUnreadable`. */
  readonly noteDamage: NoteDamage | undefined
  /** By blob, of files that the check in the reference identifies. */
  readonly tables: LRUCache<string, KnownTable>
  readonly #free = new FreeBuffers()
  readonly #bytesMax: number
  #lentBytes = 0

  constructor(disk: Disk, files: BlobFiles, bytesMax: number, noteDamage?: NoteDamage) {
    this.disk = disk
    this.files = files
    this.noteDamage = noteDamage
    this.#bytesMax = Math.max(2 * blobBlockBytes, bytesMax)
    this.tables = new LRUCache({ maxSize: tableCacheBytes, sizeCalculation: ({ table }) => table.length + 300 })
  }

  /** Bytes of buffers that readers have. */
  get lentBytes(): number {
    return this.#lentBytes
  }

  get freeBytes(): number {
    return this.#free.bytes
  }

  /** Length of the longest chunk that the pool has room for, a multiple of a block: 0 if it is used up. */
  get spareBytes(): number {
    const spare = this.#bytesMax - this.#lentBytes
    return bufferSizes.findLast(size => size + tailBytes <= spare && size >= blobBlockBytes) ?? 0
  }

  /** A buffer for `length` bytes, which is at most `chunkBytesMax`, with room for a tail behind them. */
  lend(length: number): Buffer {
    const size = bufferSizes.find(one => one >= length)! + tailBytes
    this.#lentBytes += size
    const free = this.#free.take(size)
    // Those of other lengths count, too.
    this.#free.trim(this.#bytesMax - this.#lentBytes)
    return free ?? Buffer.allocUnsafeSlow(size)
  }

  takeBack(buffer: Buffer): void {
    this.#lentBytes -= buffer.length
    this.#free.keep(buffer, this.#bytesMax - this.#lentBytes)
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
      const { spareBytes } = this.#shared
      if (spareBytes === 0 && !(needed && this.#ahead.length === 0)) return
      const start = this.#at
      const blockStart = start - (start % blobBlockBytes)
      const end = Math.min(this.#end, blockStart + Math.max(blobBlockBytes, spareBytes))
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
      this.#file ??= this.#shared.disk.open(this.#shared.files.pathOf(this.#ref.id), {
        mode: 'read',
        staysWhileOpen: true,
      })
      const file = await this.#file
      this.#verify(
        buffer.subarray(0, length),
        blockStart / blobBlockBytes,
        await this.#fill(file, buffer, blockStart, length),
      )
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

  /** Reads `length` bytes at `start` into the buffer. Resolves to the table of checksums, which is read along where it is needed. */
  async #fill(file: DiskFile, buffer: Buffer, start: number, length: number): Promise<Buffer> {
    const { size } = this.#ref
    this.#table ??= this.#knownTable()
    const tableEnd = footerOffset(size) + footerBytes(size)
    const isTogether = this.#table === undefined && start + length === size && tableEnd - size <= tailBytes
    if (!isTogether) {
      this.#table ??= this.#readTable(file)
      const table = this.#table
      // Its error is thrown only when nothing is written into the buffer any more: it goes to the next reader then.
      table.catch(() => undefined)
      const count = await file.read(buffer, 0, length, start)
      if (count !== length) throw this.#tooShort()
      return table
    }
    const count = await file.read(buffer, 0, tableEnd - start, start)
    if (count < length) throw this.#tooShort()
    const read = buffer.subarray(footerOffset(size) - start, count)
    // A copy in memory of its own: it may be remembered for long, and would keep this buffer, or Node's pool of small ones, alive.
    const footer = Buffer.allocUnsafeSlow(read.length)
    read.copy(footer)
    const table = this.#takeTable(footer)
    this.#table = Promise.resolve(table)
    return table
  }

  #verify(bytes: Buffer, firstBlock: number, table: Buffer): void {
    for (let at = 0, block = firstBlock; at < bytes.length; at += blobBlockBytes, block++) {
      if (crc32(bytes.subarray(at, at + blobBlockBytes)) !== table.readUInt32LE(block * 4))
        throw this.#corrupt(`block ${block} does not match its checksum`)
    }
  }

  #knownTable(): Promise<Buffer> | undefined {
    const { id, check } = this.#ref
    // The cached table may be of a file that has been replaced since; only the check in the reference can tell.
    const known = check === anyBlobCheck ? undefined : this.#shared.tables.get(id)
    return known?.check === check ? Promise.resolve(known.table) : undefined
  }

  async #readTable(file: DiskFile): Promise<Buffer> {
    const { size } = this.#ref
    const footer = Buffer.allocUnsafeSlow(footerBytes(size))
    const count = await file.read(footer, 0, footer.length, footerOffset(size))
    return this.#takeTable(footer.subarray(0, count))
  }

  #takeTable(footer: Buffer): Buffer {
    const { id, size, check } = this.#ref
    const table = decodeFooter(footer, size, check)
    if (table === undefined) throw this.#corrupt('its table of checksums does not verify')
    if (check !== anyBlobCheck) this.#shared.tables.set(id, { check, table })
    return table
  }

  #tooShort() {
    return this.#corrupt('it is too short')
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
