/** Where blobs lie: names, folders, deletion, and the collection of what no record references. */
import type { Clock, Disk, Logger, Random } from 'svc/kernel'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const timeCharacters = 10
const folderCount = 256
const deletesAtOnceMax = 4

export class BlobFiles {
  readonly #disk: Disk
  readonly #path: string
  readonly #clock: Clock
  readonly #random: Random
  readonly #log: Logger
  /** Blobs that were written before this are garbage when no record references them. */
  readonly startMs: number
  readonly #syncs = new Map<string, { running: Promise<void>; next: Promise<void> | undefined }>()
  #deletes: string[] = []
  #deleting = 0
  #lastIdMs: number
  deleted = 0

  constructor(disk: Disk, path: string, clock: Clock, random: Random, log: Logger, startMs: number) {
    this.#disk = disk
    this.#path = path
    this.#clock = clock
    this.#random = random
    this.#log = log
    this.startMs = startMs
    this.#lastIdMs = startMs
  }

  /** 10 characters of time, never before this start, and 16 of randomness. */
  newId(): string {
    this.#lastIdMs = Math.max(this.#lastIdMs, this.#clock.now())
    let id = ''
    let time = this.#lastIdMs
    for (let i = 0; i < timeCharacters; i++) {
      id = alphabet[time % 32]! + id
      time = Math.floor(time / 32)
    }
    const random = this.#random.bytes(16)
    for (let i = 0; i < 16; i++) id += alphabet[random[i]! & 31]!
    return id
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

  /** Deletes files in the background. What a crash leaves is collected at the next start. */
  deleteSoon(ids: readonly string[]): void {
    this.#deletes.push(...ids)
    while (this.#deleting < deletesAtOnceMax && this.#deletes.length > 0) void this.#deleteSome()
  }

  async #deleteSome(): Promise<void> {
    this.#deleting++
    try {
      for (let id = this.#deletes.pop(); id !== undefined; id = this.#deletes.pop()) await this.#delete(id)
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

  /** Deletes the blobs of former runs that nothing references. Resolves with their number. */
  async collectGarbage(isReferenced: (id: string) => boolean, isStopped: () => boolean): Promise<number> {
    let collected = 0
    for (const folder of await this.#disk.list(this.#path)) {
      if (isStopped()) break
      for (const id of await this.#disk.list(`${this.#path}/${folder}`)) {
        if (isStopped()) break
        if (timeOf(id) >= this.startMs || isReferenced(id)) continue
        await this.#delete(id)
        collected++
      }
    }
    return collected
  }
}

/** Milliseconds since 1970 that an id begins with; 0 for what is no id. */
function timeOf(id: string): number {
  let time = 0
  for (let i = 0; i < timeCharacters; i++) time = time * 32 + alphabet.indexOf(id[i] ?? '0')
  return time < 0 ? 0 : time
}
