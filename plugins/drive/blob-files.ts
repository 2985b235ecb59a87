/** Where blobs lie: names, folders, deletion, and the collection of what no record references. */
import type { Clock, Disk, Logger, MaybePromise, Random } from 'svc/kernel'
import type { BlobMarks } from './blob-marks.ts'
import type { Place } from './place.ts'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const timeCharacters = 10
const randomCharacters = 16
/** At the end of an id: they name the folder. */
const folderCharacters = 2
const idPattern = new RegExp(`^[${alphabet}]{${timeCharacters + randomCharacters}}$`)
const folderCount = 256
const deletesAtOnceMax = 4

export interface BlobFilesOptions {
  readonly disk: Disk
  /** The folder of all blobs. */
  readonly place: Place
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** When the drive was opened. */
  readonly startMs: number
  /** The same in all threads. */
  readonly marks: BlobMarks
  /** Resolves when a blob that has lost its last reference will not be deleted for that any more. */
  spare(id: string): Promise<void>
  /** Deletes a blob unless a record references it. */
  discard(id: string): MaybePromise<void>
}

export class BlobFiles {
  readonly #disk: Disk
  readonly place: Place
  readonly #path: string
  readonly #clock: Clock
  readonly #random: Random
  readonly #log: Logger
  /** Blobs that were written before this are garbage when no record references them. */
  readonly startMs: number
  readonly #syncs = new Map<string, { running: Promise<void>; next: Promise<void> | undefined }>()
  readonly #marks: BlobMarks
  readonly #spare: (id: string) => Promise<void>
  readonly #discard: (id: string) => MaybePromise<void>
  /** Files to be deleted, and who is to be told. */
  readonly #deletes = new Map<string, ((id: string) => void) | undefined>()
  readonly #underWay = new Map<string, Promise<void>>()
  #deleting = 0
  #lastIdMs: number
  deleted = 0

  constructor(options: BlobFilesOptions) {
    this.#disk = options.disk
    this.place = options.place
    this.#path = options.place.path
    this.#clock = options.clock
    this.#random = options.random
    this.#log = options.log
    this.#marks = options.marks
    this.#spare = options.spare
    this.#discard = options.discard
    this.startMs = options.startMs
    this.#lastIdMs = options.startMs
  }

  /** Its time is never before this start. */
  newId(): string {
    this.#lastIdMs = Math.max(this.#lastIdMs, this.#clock.now())
    return createBlobId(this.#lastIdMs, this.#random)
  }

  /** An id for what is to become the file of another one: in the same folder, and garbage after a crash. */
  newIdBeside(id: string): string {
    return this.newId().slice(0, -folderCharacters) + id.slice(-folderCharacters)
  }

  folderOf(id: string): string {
    // The random part spreads; the time part would fill one folder after the other.
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

  /** Makes the names in a blob's folder durable. Calls at the same time share one sync that begins after all of them. */
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

  /** Brings the bytes of a blob that is there, and its name, onto stable storage. */
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

  /** Of a blob of a given id, before anything is written: it is no garbage. */
  onWriting(id: string): void {
    if (timeOf(id) < this.startMs) this.#marks.onWriting(id)
  }

  /** Resolves when nobody is about to delete what has this id: the new one may take its place. */
  async makeWay(id: string): Promise<void> {
    while (this.#marks.isCollecting(id)) {
      await new Promise<void>(resolve => {
        this.#clock.after(1, resolve)
      })
    }
    await this.keep(id)
    if (this.#marks.mayBeDying(id)) await this.#spare(id)
  }

  /** Deletes files in the background. What a crash leaves is collected at the next start. `onDone` is called for each, also where it failed. */
  deleteSoon(ids: readonly string[], onDone?: (id: string) => void): void {
    for (const id of ids) this.#deletes.set(id, onDone ?? this.#deletes.get(id))
    while (this.#deleting < deletesAtOnceMax && this.#deletes.size > 0) void this.#deleteSome()
  }

  /** Deletes a blob that was finished, unless a record references it: then it is not the writer's any more. */
  async discard(id: string): Promise<void> {
    try {
      await this.#discard(id)
    } catch (error) {
      this.#log.debug({ err: error, blob: id }, 'a blob that was given up stays until the next start')
    }
  }

  /** Takes back a `deleteSoon`; `onDone` is not called then. A deletion that is under way is waited for. */
  async keep(id: string): Promise<void> {
    this.#deletes.delete(id)
    await this.#underWay.get(id)
  }

  async #deleteSome(): Promise<void> {
    this.#deleting++
    try {
      for (const [id, onDone] of this.#deletes) {
        this.#deletes.delete(id)
        const deleting = this.#delete(id)
        this.#underWay.set(id, deleting)
        await deleting
        this.#underWay.delete(id)
        onDone?.(id)
      }
    } finally {
      this.#deleting--
    }
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

  /** Deletes blobs of former runs that are garbage. Resolves with their number. */
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

/** 10 characters of time (milliseconds since 1970) and 16 of randomness. */
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

/** An id comes to be a file name: throws where it is none that `createBlobId` makes. */
export function requireBlobId(id: string): void {
  if (!idPattern.test(id)) throw new RangeError('not the id of a blob')
}

/** Milliseconds since 1970 that an id begins with; 0 for what is no id. */
function timeOf(id: string): number {
  let time = 0
  for (let i = 0; i < timeCharacters; i++) time = time * 32 + alphabet.indexOf(id[i] ?? '0')
  return time < 0 ? 0 : time
}
