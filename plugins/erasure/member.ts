/** A slot of the set and the drive in it, in the storage thread. `ErasureSet` owns the members and changes their state. */
import type { DriveStatus, RebuildProgress } from 'svc/plugins/storage/api'
import type { Progress } from './set-document.ts'
import type { WatchedDrive } from './watched-drive.ts'

/**
 * | State | Meaning | Reads | Writes | Next |
 * |---|---|---|---|---|
 * | offline | not there, failed or timed out | no | no | opened again: behind |
 * | behind | lacks changes, and catches up | no | every new change | has every change: current |
 * | current | has every change | yes | yes | an error or a timeout (`SlowDriveDetector`): offline |
 */
export type MemberState = 'offline' | 'behind' | 'current'

export class Member {
  readonly slot: number
  /** Position among the paths that the operator named; the same in each thread. */
  readonly index: number
  readonly path: string
  readonly drive: WatchedDrive
  state: MemberState = 'offline'
  /** Generation of the drive in the slot. */
  generation = 1
  error: unknown
  /** Id of an empty drive that was formatted for this slot, as long as the set document does not have it. */
  newDriveId: string | undefined
  /** Started: has to be stopped. */
  isOpen = false
  /** Increases each time the drive is opened; a thread that is attached to an earlier opening attaches again. */
  openings = 0
  /** File system of its folder when it was opened; undefined if unknown. */
  device: number | undefined
  /** Monotonic time in milliseconds at which it was last taken back: what it did earlier may have to be undone until it has every change. */
  returnedMs = Number.NEGATIVE_INFINITY
  /** Current, with the last changes that it lacked applied: they are on their way when it becomes current. */
  hasCaughtUp = true
  /** The last change that it was sent since it began to catch up. */
  lastSent: Progress | undefined
  /** Offline only because of a timeout. */
  isTimedOut = false
  /** How many timeouts it had. */
  timeoutCount = 0
  /** Set while it is being opened, or closed and opened again. */
  returning: Promise<void> | undefined
  /** It may have notes of missing shards that records do not mention yet. */
  mayHaveNotes = false
  /** Shards of it were found missing, and at least one of them was rebuilt. */
  rebuild: RebuildProgress | undefined

  constructor(slot: number, index: number, path: string, drive: WatchedDrive) {
    this.slot = slot
    this.index = index
    this.path = path
    this.drive = drive
  }

  get takesWrites(): boolean {
    return this.state !== 'offline'
  }

  /** Status without its place in the set. */
  status(own: DriveStatus | undefined): DriveStatus {
    const { message = String(this.error), cause } = (this.error ?? {}) as Partial<Error>
    const reason = cause instanceof Error ? `${message} ${cause.message}` : message
    const error = this.error === undefined ? undefined : reason
    if (own !== undefined && this.isOpen) {
      return this.state === 'offline' ? { ...own, state: own.state === 'faulty' ? 'faulty' : 'offline', error } : own
    }
    const unknown = { id: '', totalBytes: 0, freeBytes: 0, freeInodes: 0 }
    return { path: this.path, ...unknown, state: 'offline', error: error ?? 'The drive is not there.' }
  }
}
