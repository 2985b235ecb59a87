/**
 * Free space of a drive's file system. New data is refused below a reserve, before the file system is full, so that deletes, the
 * index and compaction always have room to work. The ballast file occupies a part of the reserve. The storage thread measures;
 * all threads read one budget in shared memory.
 */
import type { Clock, Logger } from 'svc/kernel'
import type { Disk, DiskSpace } from './disk.ts'

const pollMs = 2000
/** After a write was refused, free space as reported is ignored for this long: quotas do not show in it. */
const refusedMs = 5000
const reserveShare = 0.01
/** So many measurements in a row must find room before the log says so; at the edge a drive changes between full and not full. */
const roomySteadyLooks = 3

/** Whether an error means that the file system or a quota has no space. */
export function isOutOfSpace(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** The reserve for deletes and housekeeping on a file system of this size. */
export function reserveBytesOf(totalBytes: number, reserveBytesMin: number): number {
  return Math.max(reserveBytesMin, Math.floor(totalBytes * reserveShare))
}

/**
 * The room for new data and the bytes written since it was measured, both in KiB, in shared memory, so that all threads draw on
 * one budget.
 */
export interface SpaceBudget {
  isFull(): boolean
  /** Adds to the bytes written since the last measurement. */
  onWritten(bytes: number): void
  /** Called when the file system has refused a write for lack of space. */
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

/** The budget in the storage thread, which keeps it up to date. */
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
  /** How much of the reserve the ballast occupies. */
  ballastBytes(): number
  readonly cells: Int32Array
}

/** Measures periodically. Logs once when the drive becomes full and once when it has room again. */
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
    // Because of what all threads wrote since the last measurement.
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
      // Logged once: a drive that is gone stays gone for a while.
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
