/**
 * Writes one blob: fills an aligned buffer while the previous one is being written, and ends with the footer and a sync of file
 * and folder. No record references the file before `finish` resolves, so a crash or failure on the way leaves garbage, never a
 * partial blob.
 */
import { crc32 } from '@node-rs/crc32'
import type { MaybePromise } from 'svc/kernel'
import type { BlobRef, BlobWriter } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { alignUp, blockBytes } from './aligned-memory.ts'
import { type BlobFiles, requireBlobId } from './blob-files.ts'
import { blobBlockBytes, encodeFooter } from './blob-format.ts'
import { type BufferHolder, BufferPool } from './buffer-pool.ts'
import type { DriveConfig } from './config.ts'
import type { Disk, DiskFile } from './disk.ts'
import { isOutOfSpace, type SpaceBudget } from './space.ts'

const blobBufferBytes = 1024 * 1024

export interface BlobWriterOptions {
  readonly disk: Disk
  readonly files: BlobFiles
  readonly pool: BufferPool
  readonly direct: boolean
  isFull(): boolean
  onWritten(bytes: number): void
  onRefused(): void
}

/** Dependencies shared by the writers of one thread. */
export function blobWriting(disk: Disk, files: BlobFiles, config: DriveConfig, space: SpaceBudget): BlobWriterOptions {
  return {
    disk,
    files,
    pool: new BufferPool(blobBufferBytes, Math.floor(config.blobBufferBytes / blobBufferBytes)),
    direct: config.directIo,
    isFull: () => space.isFull(),
    onWritten: bytes => space.onWritten(bytes),
    onRefused: () => space.onRefused(),
  }
}

export class DriveBlobWriter implements BlobWriter, BufferHolder {
  readonly id: string
  /** The file's id until `finish`: a temporary one when the caller gave the blob's id. */
  readonly #fileId: string
  /** The file has replaced, or is about to replace, the blob with the given id. */
  #isInPlace = false
  readonly #options: BlobWriterOptions
  #file: Promise<DiskFile> | undefined
  #buffer: Buffer | undefined
  /** Bytes in the buffer. */
  #filled = 0
  /** File offset of the buffer's first byte, a multiple of 4 KiB. */
  #position = 0
  /** The tail of less than 4 KiB when the buffer was yielded; written before the bytes that follow. */
  #residue: Buffer | undefined
  #sizeBytes = 0
  readonly #checksums: number[] = []
  #blockCrc = 0
  #blockFilled = 0
  #writing: Promise<void> | undefined
  #isBusy = false
  /** The pool asked for the buffer while the writer was busy. */
  #yieldsNext = false
  #yielding: Promise<void> | undefined
  #error: unknown
  #state: 'open' | 'finished' | 'aborted' = 'open'

  constructor(options: BlobWriterOptions, id: string | undefined) {
    this.#options = options
    if (id === undefined) {
      this.id = options.files.newId()
      this.#fileId = this.id
      return
    }
    requireBlobId(id)
    this.id = id
    this.#fileId = options.files.newIdBeside(id)
    options.files.onWriting(id)
  }

  write(chunk: Uint8Array): MaybePromise<void> {
    this.#requireOpen()
    const buffer = this.#buffer
    if (
      buffer !== undefined &&
      !this.#isBusy &&
      this.#yielding === undefined &&
      this.#filled + chunk.length < buffer.length
    ) {
      this.#copy(buffer, chunk, 0, chunk.length)
      return
    }
    return this.#writeSlowly(chunk)
  }

  async #writeSlowly(chunk: Uint8Array): Promise<void> {
    if (this.#isBusy) throw new Error('write was called before the previous write had resolved')
    this.#isBusy = true
    try {
      await this.#yielding
      let at = 0
      while (at < chunk.length) {
        const buffer = await this.#acquire()
        const count = Math.min(chunk.length - at, buffer.length - this.#filled)
        this.#copy(buffer, chunk, at, count)
        at += count
        if (this.#filled === buffer.length) await this.#submit(this.#filled)
      }
    } catch (error) {
      throw this.#failed(error)
    } finally {
      this.#endBusy()
    }
  }

  #copy(buffer: Buffer, chunk: Uint8Array, from: number, count: number): void {
    buffer.set(count === chunk.length ? chunk : chunk.subarray(from, from + count), this.#filled)
    this.#checksum(buffer.subarray(this.#filled, this.#filled + count))
    this.#filled += count
    this.#sizeBytes += count
  }

  #checksum(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const count = Math.min(bytes.length - at, blobBlockBytes - this.#blockFilled)
      this.#blockCrc = crc32(bytes.subarray(at, at + count), this.#blockCrc)
      this.#blockFilled += count
      at += count
      if (this.#blockFilled === blobBlockBytes) this.#endBlock()
    }
  }

  #endBlock(): void {
    this.#checksums.push(this.#blockCrc)
    this.#blockCrc = 0
    this.#blockFilled = 0
  }

  async #acquire(): Promise<Buffer> {
    if (this.#buffer !== undefined) return this.#buffer
    if (this.#options.isFull()) throw storageErrors.full()
    const buffer = await this.#options.pool.acquire(this)
    this.#requireOpen(buffer)
    this.#buffer = buffer
    this.#filled = 0
    if (this.#residue !== undefined) {
      this.#residue.copy(buffer)
      this.#filled = this.#residue.length
      this.#residue = undefined
    }
    return buffer
  }

  /** Writes the first `length` bytes of the buffer and then releases it. One write at a time. */
  async #submit(length: number): Promise<void> {
    await this.#writing
    if (this.#error !== undefined) throw this.#error
    const buffer = this.#buffer!
    this.#buffer = undefined
    this.#filled = 0
    const position = this.#position
    this.#position += length
    this.#writing = this.#writeOut(buffer, length, position)
  }

  async #writeOut(buffer: Buffer, length: number, position: number): Promise<void> {
    const { pool, onWritten } = this.#options
    try {
      this.#file ??= this.#open()
      const file = await this.#file
      await file.write(buffer, 0, length, position)
      onWritten(length)
    } catch (error) {
      this.#failed(error)
    } finally {
      pool.release(buffer)
    }
  }

  #open(): Promise<DiskFile> {
    const { disk, files, direct } = this.#options
    return disk.open(files.pathOf(this.#fileId), { mode: 'create', exclusive: true, direct })
  }

  yieldBuffer(): void {
    // Remember the request while busy: the operation may end with a partly filled buffer, and the pool does not ask again. The
    // waiting writer may belong to the same caller, who writes to several drives at once.
    this.#yieldsNext = this.#isBusy
    // `abort` releases the buffer too; release it only once.
    if (this.#state !== 'open') return
    if (this.#isBusy || this.#yielding !== undefined || this.#buffer === undefined) return
    const whole = this.#filled - (this.#filled % blockBytes)
    this.#residue = Buffer.from(this.#buffer.subarray(whole, this.#filled))
    if (whole === 0) {
      this.#giveBack()
      return
    }
    this.#yielding = this.#submit(whole)
      .catch(error => {
        this.#failed(error)
      })
      .finally(() => {
        this.#yielding = undefined
      })
  }

  #giveBack(): void {
    const buffer = this.#buffer
    if (buffer === undefined) return
    this.#buffer = undefined
    this.#filled = 0
    this.#options.pool.release(buffer)
  }

  async finish(): Promise<BlobRef> {
    this.#requireOpen()
    if (this.#isBusy) throw new Error('finish was called before the last write had resolved')
    this.#isBusy = true
    try {
      await this.#yielding
      if (this.#blockFilled > 0) this.#endBlock()
      const { footer, check } = encodeFooter(this.#sizeBytes, this.#checksums)
      await this.#append(Buffer.alloc(alignUp(this.#sizeBytes) - this.#sizeBytes))
      await this.#append(footer)
      if (this.#filled > 0) {
        const padded = alignUp(this.#filled)
        this.#buffer!.fill(0, this.#filled, padded)
        await this.#submit(padded)
      }
      await this.#writing
      if (this.#error !== undefined) throw this.#error
      await this.#syncFile(await this.#file!)
      // The file will be renamed within this folder, so the folder must still be the drive's.
      await this.#options.files.place.require()
      this.#requireOpen()
      this.#state = 'finished'
      return { id: this.id, size: this.#sizeBytes, check }
    } catch (error) {
      throw this.#failed(error)
    } finally {
      this.#endBusy()
    }
  }

  #endBusy(): void {
    this.#isBusy = false
    if (this.#state === 'aborted') this.#giveBack()
    else if (this.#yieldsNext) this.yieldBuffer()
  }

  /**
   * Makes content and name durable. In which order does not matter, because no record names the blob yet; so a file that has its name
   * already is synced together with its folder, and file systems commit both at once.
   */
  async #syncFile(file: DiskFile): Promise<void> {
    const { files } = this.#options
    const isNamed = this.#fileId === this.id
    const naming = isNamed ? files.syncFolderOf(this.id) : undefined
    // It is waited for below, unless the content fails first.
    naming?.catch(() => undefined)
    await file.datasync()
    await file.close()
    await naming
    if (isNamed) return
    await this.#takePlace()
    await files.syncFolderOf(this.id)
  }

  /** Renames the temporary file to the given id, replacing a blob that has it. */
  async #takePlace(): Promise<void> {
    const { disk, files } = this.#options
    await files.makeWay(this.id)
    this.#requireOpen()
    this.#isInPlace = true
    await disk.rename(files.pathOf(this.#fileId), files.pathOf(this.id))
  }

  /** Appends bytes of the footer and padding. */
  async #append(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const buffer = await this.#acquire()
      const count = Math.min(bytes.length - at, buffer.length - this.#filled)
      bytes.copy(buffer, this.#filled, at, at + count)
      this.#filled += count
      at += count
      if (this.#filled === buffer.length) await this.#submit(this.#filled)
    }
  }

  async abort(): Promise<void> {
    if (this.#state === 'aborted') return
    const wasFinished = this.#state === 'finished'
    this.#state = 'aborted'
    await this.#yielding
    await this.#writing
    if (!this.#isBusy) this.#giveBack()
    if (this.#file === undefined) return
    try {
      const file = await this.#file
      await file.close()
    } catch {
      // Opening or closing failed; what exists of the file is deleted now or at the next start.
    }
    if (!this.#isInPlace) this.#options.files.deleteSoon([this.#fileId])
    // The file stays under the given id if a record references that id.
    else if (wasFinished) await this.#options.files.discard(this.id)
  }

  #requireOpen(acquired?: Buffer): void {
    if (this.#state === 'open' && this.#error === undefined) return
    if (acquired !== undefined) this.#options.pool.release(acquired)
    throw this.#error ?? new Error(`the blob is ${this.#state}`)
  }

  /** Keeps the first error, mapped for the caller. */
  #failed(error: unknown): unknown {
    if (this.#error === undefined) {
      const { code } = error as NodeJS.ErrnoException
      const isFull = isOutOfSpace(error)
      if (isFull) this.#options.onRefused()
      this.#error = isFull
        ? storageErrors.full(undefined, { cause: error })
        : code?.startsWith('E')
          ? storageErrors.faulty('A blob could not be written.', { cause: error })
          : error
    }
    return this.#error
  }
}
