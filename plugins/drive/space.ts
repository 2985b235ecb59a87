/**
 * How much room is left. New data is refused before the file system is full, so that deletes, the index and compaction always
 * have room to work in: below the reserve nothing that stores more is accepted. Part of the reserve is the ballast.
 */
import type { Clock, Disk, DiskSpace, Logger } from 'svc/kernel'

const pollMs = 2000
/** After the file system refused a write, its own figures are not believed for this long (quotas do not show in them). */
const refusedMs = 5000
const reserveShare = 0.01
/** Looks in a row that find room before it is said: at the edge a drive is full and has room by turns. */
const roomySteadyLooks = 3

/** Whether the file system, or a quota, has no room for what was to be written. */
export function isOutOfSpace(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** What stays free for deletes and housekeeping, of a file system of this size. */
export function reserveBytesOf(totalBytes: number, reserveBytesMin: number): number {
  return Math.max(reserveBytesMin, Math.floor(totalBytes * reserveShare))
}

/**
 * The room for new data in KiB and what has been written since that was looked up: shared memory, so that all threads draw on
 * one budget.
 */
export interface SpaceBudget {
  isFull(): boolean
  /** Counts what was written since the last look at the file system. */
  onWritten(bytes: number): void
  /** The file system has refused a write for want of space. */
  onRefused(error?: unknown): void
}

const cell = { budgetKiB: 0, writtenKiB: 1 } as const
const kibibyte = 1024
const cellMax = 2 ** 31 - 1
export const spaceCellCount = 2

export function createSpaceBudget(cells: Int32Array): SpaceBudget {
  return {
    isFull: () => Atomics.load(cells, cell.budgetKiB) - Atomics.load(cells, cell.writtenKiB) <= 0,
    onWritten(bytes) {
      Atomics.add(cells, cell.writtenKiB, Math.ceil(bytes / kibibyte))
    },
    onRefused() {
      Atomics.store(cells, cell.budgetKiB, 0)
    },
  }
}

/** The budget, kept up to date by the thread that owns the drive. */
export interface Space extends SpaceBudget {
  readonly latest: DiskSpace
  stop(): void
}

export interface SpaceOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly log: Logger
  readonly path: string
  readonly reserveBytesMin: number
  /** How much of the reserve is taken up by the ballast. */
  ballastBytes(): number
  readonly cells: Int32Array
}

/** Says in the log when the drive becomes full, and when it is not any more: once each, however many writes are refused. */
export async function watchSpace(options: SpaceOptions): Promise<Space> {
  const { disk, clock, log, path, cells } = options
  const budget = createSpaceBudget(cells)
  let latest = await disk.space(path)
  let refusedUntil = 0
  let cancel: (() => void) | undefined
  let isStopped = false
  let hasPublished = false
  let isToldFull = false
  let roomyLooks = 0
  const tellFull = (error?: unknown) => {
    roomyLooks = 0
    if (isToldFull) return
    isToldFull = true
    const { freeBytes, freeInodes } = latest
    log.warn({ path, freeBytes, freeInodes, err: error }, 'the drive is full: new data is refused')
  }
  const tell = (wasFull: boolean) => {
    if (wasFull || budget.isFull()) tellFull()
    else if (isToldFull && ++roomyLooks >= roomySteadyLooks) {
      isToldFull = false
      log.info({ path, freeBytes: latest.freeBytes }, 'the drive has room again: new data is accepted')
    }
  }
  const publish = () => {
    // By what this and other threads have written since the last look.
    const wasFull = hasPublished && budget.isFull()
    const reserveBytes = reserveBytesOf(latest.totalBytes, options.reserveBytesMin)
    const roomKiB = Math.floor((latest.freeBytes + options.ballastBytes() - reserveBytes) / kibibyte)
    const isRefused = clock.now() < refusedUntil
    Atomics.store(cells, cell.writtenKiB, 0)
    Atomics.store(cells, cell.budgetKiB, isRefused ? 0 : Math.max(0, Math.min(cellMax, roomKiB)))
    hasPublished = true
    tell(wasFull)
  }
  let isToldBlind = false
  const poll = async () => {
    try {
      latest = await disk.space(path)
      isToldBlind = false
    } catch (error) {
      // Once: who took the drive away knows it.
      if (!isToldBlind) log.warn({ path, reason: (error as Error).message }, 'could not ask for the free space')
      isToldBlind = true
    }
    if (isStopped) return
    publish()
    cancel = clock.after(pollMs, poll)
  }
  publish()
  cancel = clock.after(pollMs, poll)
  return {
    ...budget,
    get latest() {
      return latest
    },
    onRefused(error) {
      refusedUntil = clock.now() + refusedMs
      budget.onRefused()
      tellFull(error)
    },
    stop() {
      isStopped = true
      cancel?.()
    },
  }
}
