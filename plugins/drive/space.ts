/**
 * How much room is left. New data is refused before the file system is full, so that deletes, the index and compaction always
 * have room to work in: below the reserve nothing that stores more is accepted.
 */
import type { Clock, Disk, DiskSpace, Logger } from 'svc/kernel'

const pollMs = 2000
/** After the file system refused a write, its own figures are not believed for this long (quotas do not show in them). */
const refusedMs = 5000
const reserveShare = 0.01

export interface Space {
  readonly latest: DiskSpace
  readonly reserveBytes: number
  isFull(): boolean
  /** Counts what was written since the last poll. */
  onWritten(bytes: number): void
  /** The file system has refused a write for want of space. */
  onRefused(): void
  poll(): Promise<void>
  stop(): void
}

export interface SpaceOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly log: Logger
  readonly path: string
  readonly reserveBytesMin: number
}

export async function watchSpace(options: SpaceOptions): Promise<Space> {
  const { disk, clock, log, path } = options
  let latest = await disk.space(path)
  let writtenBytes = 0
  let refusedUntil = 0
  let cancel: (() => void) | undefined
  let stopped = false
  const reserve = () => Math.max(options.reserveBytesMin, Math.floor(latest.totalBytes * reserveShare))
  const poll = async () => {
    writtenBytes = 0
    try {
      latest = await disk.space(path)
    } catch (error) {
      log.warn({ err: error }, 'could not ask for the free space')
    }
  }
  const schedule = () => {
    cancel = clock.after(pollMs, () => {
      void poll().then(() => {
        if (!stopped) schedule()
      })
    })
  }
  schedule()
  return {
    get latest() {
      return latest
    },
    get reserveBytes() {
      return reserve()
    },
    isFull: () => latest.freeBytes - writtenBytes < reserve() || clock.now() < refusedUntil,
    onWritten(bytes) {
      writtenBytes += bytes
    },
    onRefused() {
      refusedUntil = clock.now() + refusedMs
    },
    poll,
    stop() {
      stopped = true
      cancel?.()
    },
  }
}
