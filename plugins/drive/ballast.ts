/**
 * The file `ballast`: space that is taken while there is plenty, to be given back when somebody else has filled the file system
 * to the last byte. Then deletes and the index have something to go on with. It counts as part of the reserve.
 *
 * It is given back in pieces, because the others who share the file system may be faster than we are; the last piece is for the
 * journal alone, so that an index which wants much does not keep deletes from being written.
 */
import type { Disk, DiskFile, Logger, Random } from 'svc/kernel'
import { allocateAligned, blockBytes } from './aligned-memory.ts'

const ballastBytesMax = 32 * 1024 * 1024
const pieceCount = 4
const refillsSkippedMax = 60

export interface BallastOptions {
  readonly disk: Disk
  readonly random: Random
  readonly log: Logger
  readonly path: string
  /** The reserve that it is part of, in bytes: it takes up half of that, at most 32 MiB. */
  readonly reserveBytes: number
  readonly direct: boolean
}

export type BallastUser = 'journal' | 'index'

export class Ballast {
  readonly #options: BallastOptions
  /** What is given back at a time. */
  readonly pieceBytes: number
  readonly targetBytes: number
  /** Really allocated now. */
  heldBytes = 0
  /** Calls of `refill` that do nothing, because it failed: a quota does not show in the figures of the file system. */
  #refillsSkipped = 0
  /** One change of the file at a time. */
  #changing: Promise<unknown> = Promise.resolve()

  constructor(options: BallastOptions) {
    this.#options = options
    const wanted = Math.min(ballastBytesMax, options.reserveBytes / 2)
    this.pieceBytes = Math.floor(wanted / pieceCount / blockBytes) * blockBytes
    this.targetBytes = this.pieceBytes * pieceCount
  }

  /** Finds out what an earlier run has left. */
  async open(): Promise<void> {
    const { disk, path } = this.#options
    if (!(await disk.exists(path))) return
    const file = await disk.open(path, { mode: 'read' })
    try {
      this.heldBytes = Math.floor((await file.size()) / blockBytes) * blockBytes
    } finally {
      await file.close()
    }
  }

  /** Gives a piece back. Resolves with false when there is none for this user, and when that failed. */
  release(user: BallastUser): Promise<boolean> {
    return this.#inTurn(async () => {
      const { log } = this.#options
      const keptBytes = user === 'journal' ? 0 : this.pieceBytes
      const left = Math.max(keptBytes, this.heldBytes - Math.max(this.pieceBytes, blockBytes))
      if (left >= this.heldBytes) return false
      try {
        await this.#change('write', async file => {
          await file.truncate(left)
          // Some file systems give blocks to others only once it is certain that they were given back.
          await file.datasync()
        })
      } catch (error) {
        log.warn({ err: error }, 'the ballast could not be given back')
        return false
      }
      this.heldBytes = left
      log.warn({ user, leftBytes: left }, 'the file system is full: a piece of the ballast has been given back')
      return true
    })
  }

  /** Takes a piece where it leaves as much as it will be in all. Called now and then. */
  refill(freeBytes: number): Promise<void> {
    return this.#inTurn(async () => {
      const { disk, path, log } = this.#options
      const grown = Math.min(this.targetBytes, this.heldBytes + this.pieceBytes)
      if (this.#refillsSkipped > 0) {
        this.#refillsSkipped--
        return
      }
      if (grown <= this.heldBytes || freeBytes - (grown - this.heldBytes) < this.targetBytes) return
      try {
        const folder = path.slice(0, path.lastIndexOf('/'))
        // What lies there may be the file system below, since ours was unmounted: that is not ours to fill.
        if (!(await disk.exists(`${folder}/format.json`))) return
        const isNew = this.heldBytes === 0 && !(await disk.exists(path))
        await this.#change('create', file => this.#write(file, this.heldBytes, grown))
        if (isNew) await disk.syncDirectory(folder)
      } catch (error) {
        log.debug({ err: error }, 'the ballast could not be taken')
        this.#refillsSkipped = refillsSkippedMax
        await this.#change('write', file => file.truncate(this.heldBytes)).catch(() => {
          // What is too much there is found at the next start.
        })
        return
      }
      this.heldBytes = grown
    })
  }

  /** Resolves when nothing of it is being changed any more: the drive belongs to somebody else once it is closed. */
  async settled(): Promise<void> {
    await this.#changing
  }

  /** Bytes that do not compress: a file system that compresses would take no space for zeros. */
  async #write(file: DiskFile, from: number, to: number): Promise<void> {
    const noise = this.#noise()
    for (let at = from; at < to; at += noise.length) {
      await file.write(noise, 0, Math.min(noise.length, to - at), at)
    }
    await file.datasync()
  }

  #noise(): Buffer {
    const bytes = allocateAligned(Math.min(1024 * 1024, this.pieceBytes))
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
