/**
 * Reads bodies from the journal: verified on each read from disk, then cached by location, as those that were written lately are
 * (`WrittenBodies`). A location never gets other bytes, so the cache needs no invalidation. Segments are read through the page cache, which serves as a larger second cache. One per
 * thread.
 */
import { crc32 } from '@node-rs/crc32'
import { LRUCache } from 'lru-cache'
import type { MaybePromise } from 'svc/kernel'
import type { BodyRef } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import type { Disk, DiskFile } from './disk.ts'
import { WrittenBodies } from './written-bodies.ts'

const openSegmentsMax = 64
/** Memory per entry in addition to its bytes. */
const entryOverheadBytes = 200
const offsetSpan = 2 ** 32
/** The part of the cache that is for bodies that nobody has read yet. */
const writtenShare = 1 / 4

interface OpenSegment {
  readonly file: Promise<DiskFile>
  readers: number
  retired: boolean
}

export class BodyReader {
  readonly #disk: Disk
  readonly #pathOf: (segment: number) => string
  /** Bodies that were read. */
  readonly #cache: LRUCache<number, Buffer>
  readonly #written: WrittenBodies
  readonly #open = new Map<number, OpenSegment>()
  hits = 0
  misses = 0

  constructor(disk: Disk, pathOf: (segment: number) => string, cacheBytesMax: number) {
    this.#disk = disk
    this.#pathOf = pathOf
    this.#written = new WrittenBodies(Math.floor(cacheBytesMax * writtenShare))
    this.#cache = new LRUCache({
      maxSize: Math.max(1, cacheBytesMax - this.#written.capacity),
      sizeCalculation: bytes => bytes.length + entryOverheadBytes,
    })
  }

  get cachedBytes(): number {
    return this.#cache.calculatedSize + this.#written.bytes
  }

  /** Caches a copy of a body that has just become durable. */
  remember(segment: number, offset: number, bytes: Uint8Array): void {
    this.#written.add(segment * offsetSpan + offset, bytes)
  }

  read(ref: BodyRef): MaybePromise<Buffer> {
    const location = ref.segment * offsetSpan + ref.offset
    const cached = this.#cache.get(location) ?? this.#firstRead(location)
    if (cached !== undefined && cached.length === ref.size) {
      this.hits++
      return cached
    }
    return this.#readFromDisk(ref)
  }

  /** What is read for the first time after it was written is read again, perhaps. */
  #firstRead(location: number): Buffer | undefined {
    const body = this.#written.take(location)
    if (body !== undefined) this.#cache.set(location, body)
    return body
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
    this.#written.clear()
  }
}

function closeQuietly(segment: OpenSegment): void {
  // Closing a file that was only read cannot lose data.
  segment.file.then(file => file.close()).catch(() => undefined)
}
