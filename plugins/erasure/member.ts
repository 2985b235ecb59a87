/** A slot of the set and the drive that has it, in the thread that commits. */
import type { DriveStatus } from 'svc/plugins/storage/api'
import type { WatchedDrive } from './watched-drive.ts'

/**
 * | State | What it means | Reads | Writes | Next |
 * |---|---|---|---|---|
 * | offline | not there, or it has failed | no | no | it opens again: behind |
 * | behind | it lacks changes, and is being given them | no | each change, too | has them all: current |
 * | current | it has every change | yes | yes | an error, or no answer (`SlowDriveDetector`): offline |
 */
export type MemberState = 'offline' | 'behind' | 'current'

export class Member {
  readonly slot: number
  /** Its place in what the operator named: the same in each thread. */
  readonly index: number
  readonly path: string
  readonly drive: WatchedDrive
  state: MemberState = 'offline'
  /** Of the drive that has the slot. */
  generation = 1
  error: unknown
  /** Of an empty drive that was formatted for this slot while the set runs, and has not taken it yet. */
  newDriveId: string | undefined
  /** Started: `stop` has to be called. */
  isOpen = false
  /** Goes up each time that the drive was opened: whoever has attached to an earlier opening attaches again. */
  openings = 0
  /** Number of the file system that its folder was on when it was opened; undefined where that is not known. */
  device: number | undefined
  /** It went away because it did not answer. Nothing else is known to be wrong with it. */
  isTimedOut = false
  /** How often that has happened. */
  timeoutCount = 0
  /** Being opened, or closed and opened again. */
  returning: Promise<void> | undefined
  /** It may have notes of shards that it lacks, of which records do not say so yet. */
  mayHaveNotes = false
  /** Shards of it were found missing, and not all are made anew yet. */
  isRebuilding = false

  constructor(slot: number, index: number, path: string, drive: WatchedDrive) {
    this.slot = slot
    this.index = index
    this.path = path
    this.drive = drive
  }

  get takesWrites(): boolean {
    return this.state !== 'offline'
  }

  /** Apart from where it stands in its set. */
  status(own: DriveStatus | undefined): DriveStatus {
    const error = this.error === undefined ? undefined : String((this.error as Error).message ?? this.error)
    if (own !== undefined && this.isOpen) {
      return this.state === 'offline' ? { ...own, state: own.state === 'faulty' ? 'faulty' : 'offline', error } : own
    }
    const unknown = { id: '', totalBytes: 0, freeBytes: 0, freeInodes: 0 }
    return { path: this.path, ...unknown, state: 'offline', error: error ?? 'The drive is not there.' }
  }
}
