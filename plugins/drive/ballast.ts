/**
 * The file `ballast`: disk space occupied in good times and released when other software has filled the file system to the last
 * byte, so that deletes and the index can still be written. It counts as part of the reserve. `open-drive.ts` opens it; the
 * engine and the checkpoints release pieces.
 *
 * - It is released piece by piece, because other software may take a freed piece first.
 * - The last piece is for the journal only, so that a large index cannot stop deletes.
 */
import type { Logger, Random } from 'svc/kernel'
import { allocateAligned, blockBytes } from './aligned-memory.ts'
import type { Disk, DiskFile } from './disk.ts'

const ballastBytesMax = 32 * 1024 * 1024
const pieceCount = 4
const refillsSkippedMax = 60

export interface BallastOptions {
  readonly disk: Disk
  readonly random: Random
  readonly log: Logger
  readonly path: string
  /** The reserve that contains it, in bytes. The ballast takes half of it, at most 32 MiB. */
  readonly reserveBytes: number
  readonly direct: boolean
}

export type BallastUser = 'journal' | 'index'

/** Maximum number of random bytes at once. They stay in memory until the next garbage collection, which an idle server does not run. */
const noiseBytesMax = 128 * 1024

export class Ballast {
  readonly #options: BallastOptions
  /** Bytes released at a time. */
  readonly pieceBytes: number
  readonly targetBytes: number
  /** Bytes allocated now. */
  allocatedBytes = 0
  /** Calls of `refill` to skip after a failure, since a quota does not show in the reported free space. */
  #refillsSkipped = 0
  /** Serializes changes of the file. */
  #changing: Promise<unknown> = Promise.resolve()

  constructor(options: BallastOptions) {
    this.#options = options
    const wanted = Math.min(ballastBytesMax, options.reserveBytes / 2)
    this.pieceBytes = Math.floor(wanted / pieceCount / blockBytes) * blockBytes
    this.targetBytes = this.pieceBytes * pieceCount
  }

  /** Reads the size that an earlier run has left. */
  async open(): Promise<void> {
    const { disk, path } = this.#options
    if (!(await disk.exists(path))) return
    const file = await disk.open(path, { mode: 'read' })
    try {
      this.allocatedBytes = Math.floor((await file.size()) / blockBytes) * blockBytes
    } finally {
      await file.close()
    }
  }

  /** Releases a piece. Resolves with false when none is left for this user, or when the release failed. */
  release(user: BallastUser): Promise<boolean> {
    return this.#inTurn(async () => {
      const { log } = this.#options
      const keptBytes = user === 'journal' ? 0 : this.pieceBytes
      const left = Math.max(keptBytes, this.allocatedBytes - Math.max(this.pieceBytes, blockBytes))
      if (left >= this.allocatedBytes) return false
      try {
        await this.#change('write', async file => {
          await file.truncate(left)
          // Some file systems reuse blocks only after the truncation is synced.
          await file.datasync()
        })
      } catch (error) {
        log.warn({ err: error }, 'the ballast could not be released')
        return false
      }
      this.allocatedBytes = left
      log.warn(
        { user, leftBytes: left },
        'the file system is full: a piece of the ballast has been released for deletes and the index',
      )
      return true
    })
  }

  /** Adds a piece if the free space then stays at least as large as the full ballast. Called about once a second. */
  refill(freeBytes: number): Promise<void> {
    return this.#inTurn(async () => {
      const { disk, path, log } = this.#options
      const grown = Math.min(this.targetBytes, this.allocatedBytes + this.pieceBytes)
      if (this.#refillsSkipped > 0) {
        this.#refillsSkipped--
        return
      }
      if (grown <= this.allocatedBytes || freeBytes - (grown - this.allocatedBytes) < this.targetBytes) return
      try {
        const folder = path.slice(0, path.lastIndexOf('/'))
        // Without `format.json` the drive has been unmounted, and this is the file system below it, which must not be filled.
        if (!(await disk.exists(`${folder}/format.json`))) return
        const isNew = this.allocatedBytes === 0 && !(await disk.exists(path))
        await this.#change('create', file => this.#write(file, this.allocatedBytes, grown))
        if (isNew) await disk.syncDirectory(folder)
      } catch (error) {
        log.debug({ err: error }, 'the ballast could not be refilled')
        this.#refillsSkipped = refillsSkippedMax
        await this.#change('write', file => file.truncate(this.allocatedBytes)).catch(() => {
          // Excess bytes in the file are counted at the next start.
        })
        return
      }
      this.allocatedBytes = grown
    })
  }

  /** Resolves when no change of the file is pending. A closed drive may be opened by another process. */
  async settled(): Promise<void> {
    await this.#changing
  }

  /** Random bytes: a compressing file system would allocate no space for zeros. */
  async #write(file: DiskFile, from: number, to: number): Promise<void> {
    const noise = this.#noise()
    for (let at = from; at < to; at += noise.length) {
      await file.write(noise, 0, Math.min(noise.length, to - at), at)
    }
    await file.datasync()
  }

  #noise(): Buffer {
    const bytes = allocateAligned(Math.min(noiseBytesMax, this.pieceBytes))
    this.#options.random.bytes(bytes.length).copy(bytes)
    return bytes
  }

  async #change(mode: 'write' | 'create', change: (file: DiskFile) => Promise<void>): Promise<void> {
    const { disk, path, direct } = this.#options
    const file = await disk.open(path, { mode, direct })
    try {
      await change(file)
    } finally {
      await file.close()
    }
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#changing.then(run)
    this.#changing = turn.catch(() => undefined)
    return turn
  }
}
