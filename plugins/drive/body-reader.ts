/**
 * Reads bodies from the journal: verified on each read from disk, then cached by location. A location never gets other bytes, so
 * the cache needs no invalidation. Segments are read through the page cache, which serves as a larger second cache. One per
 * thread.
 */
import { crc32 } from '@node-rs/crc32'
import { LRUCache } from 'lru-cache'
import type { MaybePromise } from 'svc/kernel'
import type { BodyRef } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { asBuffer } from './bytes.ts'
import type { Disk, DiskFile } from './disk.ts'

const openSegmentsMax = 64
/** Memory per entry in addition to its bytes. */
const entryOverheadBytes = 200
const offsetSpan = 2 ** 32

interface OpenSegment {
  readonly file: Promise<DiskFile>
  readers: number
  retired: boolean
}

export class BodyReader {
  readonly #disk: Disk
  readonly #pathOf: (segment: number) => string
  readonly #cache: LRUCache<number, Buffer>
  readonly #open = new Map<number, OpenSegment>()
  hits = 0
  misses = 0

  constructor(disk: Disk, pathOf: (segment: number) => string, cacheBytesMax: number) {
    this.#disk = disk
    this.#pathOf = pathOf
    this.#cache = new LRUCache({
      maxSize: Math.max(1, cacheBytesMax),
      sizeCalculation: bytes => bytes.length + entryOverheadBytes,
    })
  }

  get cachedBytes(): number {
    return this.#cache.calculatedSize
  }

  /** Caches a body that has just become durable. The bytes must not change any more. */
  remember(segment: number, offset: number, bytes: Uint8Array): void {
    this.#cache.set(segment * offsetSpan + offset, withOwnMemory(bytes))
  }

  read(ref: BodyRef): MaybePromise<Buffer> {
    const cached = this.#cache.get(ref.segment * offsetSpan + ref.offset)
    if (cached !== undefined && cached.length === ref.size) {
      this.hits++
      return cached
    }
    return this.#readFromDisk(ref)
  }

  async #readFromDisk(ref: BodyRef): Promise<Buffer> {
    this.misses++
    const bytes = await this.readUncached(ref)
    this.#cache.set(ref.segment * offsetSpan + ref.offset, bytes)
    return bytes
  }

  /** For compaction: bodies that are read once must not evict those that are read often. */
  async readUncached(ref: BodyRef): Promise<Buffer> {
    const bytes = Buffer.allocUnsafeSlow(ref.size)
    if (ref.size > 0) {
      const segment = this.#segment(ref.segment)
      segment.readers++
      try {
        const file = await segment.file
        const count = await file.read(bytes, 0, ref.size, ref.offset)
        if (count !== ref.size) throw storageErrors.corrupt(`A body in segment ${ref.segment} lies beyond its end.`)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw storageErrors.gone()
        throw error
      } finally {
        segment.readers--
        if (segment.retired && segment.readers === 0) closeQuietly(segment)
      }
    }
    if (crc32(bytes) !== ref.check) {
      throw storageErrors.corrupt(`A body in segment ${ref.segment} at ${ref.offset} does not match its checksum.`)
    }
    return bytes
  }

  #segment(number: number): OpenSegment {
    let segment = this.#open.get(number)
    if (segment !== undefined) {
      // Least recently used order: moved to the end.
      this.#open.delete(number)
      this.#open.set(number, segment)
      return segment
    }
    segment = { file: this.#disk.open(this.#pathOf(number), { mode: 'read' }), readers: 0, retired: false }
    segment.file.catch(() => this.#open.delete(number))
    this.#open.set(number, segment)
    if (this.#open.size > openSegmentsMax) this.forget(this.#open.keys().next().value!)
    return segment
  }

  /** Drops a segment's open file; reads under way finish. */
  forget(number: number): void {
    const segment = this.#open.get(number)
    if (segment === undefined) return
    this.#open.delete(number)
    segment.retired = true
    if (segment.readers === 0) closeQuietly(segment)
  }

  async close(): Promise<void> {
    for (const number of [...this.#open.keys()]) this.forget(number)
    this.#cache.clear()
  }
}

/** A view into shared memory, as small buffers are, would keep all of that memory alive in the cache. */
function withOwnMemory(bytes: Uint8Array): Buffer {
  if (bytes.byteLength === bytes.buffer.byteLength) return asBuffer(bytes)
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return copy
}

function closeQuietly(segment: OpenSegment): void {
  // Closing a file that was only read cannot lose data.
  segment.file.then(file => file.close()).catch(() => undefined)
}
