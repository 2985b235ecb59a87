/**
 * The files of blobs: ids, folders, deletion, and the clean-up of files that no record references. One instance per thread and
 * drive; only the storage thread collects garbage.
 *
 * - A file is deleted only when no record references its id.
 * - A blob of this run is never garbage: clean-up ignores ids from after the start, and ids that this run has written (`BlobMarks`).
 */
import type { Clock, Logger, MaybePromise, Random } from 'svc/kernel'
import type { BlobMarks } from './blob-marks.ts'
import type { Disk } from './disk.ts'
import type { Place } from './place.ts'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const timeCharacters = 10
const randomCharacters = 16
/** The last characters of an id determine its folder. */
const folderCharacters = 2
const idPattern = new RegExp(`^[${alphabet}]{${timeCharacters + randomCharacters}}$`)
const folderCount = 256
/** So many ids in a row are of one folder: blobs that end at the same time share its sync. */
const idsPerFolder = 64
const deletesAtOnceMax = 4

export interface BlobFilesOptions {
  readonly disk: Disk
  /** The folder `blobs`. */
  readonly place: Place
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** When the drive was opened, in milliseconds since 1970. */
  readonly startMs: number
  /** Shared by all threads. */
  readonly marks: BlobMarks
  /** Resolves when an unreferenced blob is no longer going to be deleted. */
  spare(id: string): Promise<void>
  /** Deletes a blob unless a record references it. */
  discard(id: string): MaybePromise<void>
  /** Whether a record references a blob, or may do so. Default: none does. */
  isReferenced?(id: string): boolean
}

export class BlobFiles {
  readonly #disk: Disk
  readonly place: Place
  readonly #path: string
  readonly #clock: Clock
  readonly #ids: BlobIds
  readonly #log: Logger
  /** Blobs with an id from before this time are garbage when no record references them. */
  readonly startMs: number
  readonly #syncs = new Map<string, { running: Promise<void>; next: Promise<void> | undefined }>()
  readonly #marks: BlobMarks
  readonly #spare: (id: string) => Promise<void>
  readonly #discard: (id: string) => MaybePromise<void>
  readonly #isReferenced: (id: string) => boolean
  /** Files to delete, with the callback of each. */
  readonly #deletes = new Map<string, ((id: string) => void) | undefined>()
  readonly #underWay = new Map<string, Promise<void>>()
  #deleting = 0
  #isClosed = false
  deleted = 0

  constructor(options: BlobFilesOptions) {
    this.#disk = options.disk
    this.place = options.place
    this.#path = options.place.path
    this.#clock = options.clock
    this.#log = options.log
    this.#marks = options.marks
    this.#spare = options.spare
    this.#discard = options.discard
    this.#isReferenced = options.isReferenced ?? (() => false)
    this.startMs = options.startMs
    this.#ids = new BlobIds(options, options.startMs)
  }

  /** The time in the id is never before the start of this run. */
  newId(): string {
    return this.#ids.next()
  }

  /** A temporary id for the file that will replace another blob: in the same folder, and garbage after a crash. */
  newIdBeside(id: string): string {
    return this.#ids.next().slice(0, -folderCharacters) + id.slice(-folderCharacters)
  }

  folderOf(id: string): string {
    // The random part spreads over all folders; the time part would fill them one after the other.
    const spread = (alphabet.indexOf(id.at(-1)!) * 32 + alphabet.indexOf(id.at(-2)!)) % folderCount
    return `${this.#path}/${spread.toString(16).padStart(2, '0')}`
  }

  pathOf(id: string): string {
    return `${this.folderOf(id)}/${id}`
  }

  async createFolders(): Promise<void> {
    if ((await this.#disk.list(this.#path)).length >= folderCount) return
    for (let i = 0; i < folderCount; i++) {
      await this.#disk.makeDirectory(`${this.#path}/${i.toString(16).padStart(2, '0')}`)
    }
    await this.#disk.syncDirectory(this.#path)
  }

  async hasAny(): Promise<boolean> {
    for (const folder of await this.#disk.list(this.#path)) {
      if ((await this.#disk.list(`${this.#path}/${folder}`)).length > 0) return true
    }
    return false
  }

  /** Syncs the folder of a blob. Concurrent calls share one sync, which begins after all of them. */
  syncFolderOf(id: string): Promise<void> {
    const folder = this.folderOf(id)
    const current = this.#syncs.get(folder)
    if (current === undefined) return this.#startSync(folder)
    current.next ??= current.running.then(
      () => this.#startSync(folder),
      () => this.#startSync(folder),
    )
    return current.next
  }

  /** Syncs the content and the name of an existing blob. */
  async sync(id: string): Promise<void> {
    const file = await this.#disk.open(this.pathOf(id), { mode: 'write' })
    try {
      await file.datasync()
    } finally {
      await file.close()
    }
    await this.syncFolderOf(id)
  }

  #startSync(folder: string): Promise<void> {
    const running = this.#disk.syncDirectory(folder)
    const entry = { running, next: undefined }
    this.#syncs.set(folder, entry)
    const clear = () => {
      if (this.#syncs.get(folder) === entry && entry.next === undefined) this.#syncs.delete(folder)
    }
    running.then(clear, clear)
    return running
  }

  /** Protects a blob with a given id from clean-up. Called before anything is written. */
  onWriting(id: string): void {
    if (timeOf(id) < this.startMs) this.#marks.onWriting(id)
  }

  /** Resolves when no thread is about to delete the file with this id, so that a new one may replace it. */
  async makeWay(id: string): Promise<void> {
    while (this.#marks.isCollecting(id)) {
      await new Promise<void>(resolve => {
        this.#clock.after(1, resolve)
      })
    }
    await this.keep(id)
    if (this.#marks.mayBeDying(id)) await this.#spare(id)
  }

  /**
   * Deletes files in the background, unless a record references them by then; after a crash the next start deletes the rest. `onDone` is
   * called for each file, after a failure too.
   */
  deleteSoon(ids: readonly string[], onDone?: (id: string) => void): void {
    if (this.#isClosed) return
    for (const id of ids) this.#deletes.set(id, onDone ?? this.#deletes.get(id))
    for (let more = Math.min(deletesAtOnceMax - this.#deleting, this.#deletes.size); more > 0; more--) {
      void this.#deleteSome()
    }
  }

  /** Deletes a finished blob unless a record references it. */
  async discard(id: string): Promise<void> {
    try {
      await this.#discard(id)
    } catch (error) {
      this.#log.debug(
        { err: error, blob: id },
        'an abandoned blob could not be deleted now; the next start will delete it',
      )
    }
  }

  /** Cancels a `deleteSoon`, whose `onDone` is then not called. Waits for a deletion that is under way. */
  async keep(id: string): Promise<void> {
    this.#deletes.delete(id)
    await this.#underWay.get(id)
  }

  async #deleteSome(): Promise<void> {
    this.#deleting++
    try {
      for (const [id, onDone] of this.#deletes) {
        // A blob that has been dead before: who deletes it comes to this entry later, and until then `keep` finds it here.
        if (this.#underWay.has(id)) continue
        this.#deletes.delete(id)
        if (!this.#isReferenced(id)) {
          const deleting = this.#delete(id)
          this.#underWay.set(id, deleting)
          await deleting
          this.#underWay.delete(id)
        }
        onDone?.(id)
      }
    } finally {
      this.#deleting--
    }
  }

  /** Leaves the other files to the next start: nobody knows any more what records reference. */
  close(): void {
    this.#isClosed = true
    this.#deletes.clear()
  }

  async #delete(id: string): Promise<void> {
    try {
      await this.#disk.remove(this.pathOf(id))
      this.deleted++
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        this.#log.warn({ err: error, blob: id }, 'could not delete a blob; the next start will')
      }
    }
  }

  /** Deletes the garbage among blobs of former runs. Resolves with the number of deleted files. */
  async collectGarbage(isGarbage: (id: string) => boolean, isStopped: () => boolean): Promise<number> {
    let collected = 0
    for (const folder of await this.#disk.list(this.#path)) {
      if (isStopped()) break
      for (const id of await this.#disk.list(`${this.#path}/${folder}`)) {
        if (isStopped()) break
        if (timeOf(id) >= this.startMs || !isGarbage(id) || !this.#marks.beginCollect(id)) continue
        try {
          await this.#delete(id)
        } finally {
          this.#marks.endCollect(id)
        }
        collected++
      }
    }
    return collected
  }
}

/** Makes ids. Their times never go back, and begin at `startMs` at the earliest. */
export class BlobIds {
  readonly #clock: Clock
  readonly #random: Random
  #lastMs: number
  /** Last characters of the next ids. */
  #ending = ''
  #left = 0

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }, startMs = 0) {
    this.#clock = clock
    this.#random = random
    this.#lastMs = startMs
  }

  next(): string {
    this.#lastMs = Math.max(this.#lastMs, this.#clock.now())
    const id = createBlobId(this.#lastMs, this.#random)
    if (this.#left-- <= 0) {
      this.#left = idsPerFolder - 1
      this.#ending = id.slice(-folderCharacters)
    }
    return id.slice(0, -folderCharacters) + this.#ending
  }
}

/** 10 characters of time (milliseconds since 1970) and 16 random ones. */
export function createBlobId(timeMs: number, random: Random): string {
  let id = ''
  let time = timeMs
  for (let i = 0; i < timeCharacters; i++) {
    id = alphabet[time % 32]! + id
    time = Math.floor(time / 32)
  }
  const bytes = random.bytes(randomCharacters)
  for (let i = 0; i < randomCharacters; i++) id += alphabet[bytes[i]! & 31]!
  return id
}

/** Throws RangeError unless `createBlobId` could have made this id: ids become file names. */
export function requireBlobId(id: string): void {
  if (!idPattern.test(id)) throw new RangeError('not the id of a blob')
}

/** The time in an id, in milliseconds since 1970; 0 for an invalid id. */
function timeOf(id: string): number {
  let time = 0
  for (let i = 0; i < timeCharacters; i++) time = time * 32 + alphabet.indexOf(id[i] ?? '0')
  return time < 0 ? 0 : time
}
