/**
 * How much room is left. New data is refused before the file system is full, so that deletes, the index and compaction always
 * have room to work in: below the reserve nothing that stores more is accepted.
 */
import type { Clock, Disk, DiskSpace, Logger } from 'svc/kernel'

const pollMs = 2000
/** After the file system refused a write, its own figures are not believed for this long (quotas do not show in them). */
const refusedMs = 5000
const reserveShare = 0.01

/**
 * The room for new data in KiB and what has been written since that was looked up: shared memory, so that all threads draw on
 * one budget.
 */
export interface SpaceBudget {
  isFull(): boolean
  /** Counts what was written since the last look at the file system. */
  onWritten(bytes: number): void
  /** The file system has refused a write for want of space. */
  onRefused(): void
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
  readonly cells: Int32Array
}

export async function watchSpace(options: SpaceOptions): Promise<Space> {
  const { disk, clock, log, path, cells } = options
  const budget = createSpaceBudget(cells)
  let latest = await disk.space(path)
  let refusedUntil = 0
  let cancel: (() => void) | undefined
  let isStopped = false
  const publish = () => {
    const reserveBytes = Math.max(options.reserveBytesMin, Math.floor(latest.totalBytes * reserveShare))
    const roomKiB = Math.floor((latest.freeBytes - reserveBytes) / kibibyte)
    const isRefused = clock.now() < refusedUntil
    Atomics.store(cells, cell.writtenKiB, 0)
    Atomics.store(cells, cell.budgetKiB, isRefused ? 0 : Math.max(0, Math.min(cellMax, roomKiB)))
  }
  const poll = async () => {
    try {
      latest = await disk.space(path)
    } catch (error) {
      log.warn({ err: error }, 'could not ask for the free space')
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
    onRefused() {
      refusedUntil = clock.now() + refusedMs
      budget.onRefused()
    },
    stop() {
      isStopped = true
      cancel?.()
    },
  }
}
