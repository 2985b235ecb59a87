/** Uploads that an earlier page did not complete: found when somebody signs in, continued when the same files are chosen again. */
import { call } from '../../api/client.ts'
import { type Entry, readEntries, removeEntries, removePages, writeEntries } from './journal.ts'
import { otherPages, ownPage } from './pages.ts'
import type { Upload } from './upload.ts'

const idOf = ({ bucket, key }: { readonly bucket: string; readonly key: string }) => `${bucket}/${key}`

/** Written together, because a folder may have many thousands of files. */
const writeMs = 500
const namesShown = 3

/** Summary of the uploads that wait for their files. */
export interface Interruption {
  readonly count: number
  /** Keys of the first few. */
  readonly keys: readonly string[]
  readonly buckets: readonly string[]
}

export class InterruptedUploads {
  #user = ''
  #opened: Promise<void> = Promise.resolve()
  /** Entries of earlier pages whose file was not chosen again yet. Entries of this page are only in the browser's database. */
  readonly #left = new Map<string, Entry>()
  #missing = 0
  #changed = new Map<string, Entry>()
  /** Ids of uploads that the user has given up, or the server has refused; they are not offered again. */
  #ended = new Set<string>()
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Writes run one after the other, so that a removed entry does not come back. */
  #written: Promise<void> = Promise.resolve()
  readonly #onChange: () => void

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  /** Reads what this user left behind. */
  open(user: string): Promise<void> {
    if (this.#user !== user) this.#opened = this.#read(user)
    return this.#opened
  }

  /** Until what is left is known. */
  get opened(): Promise<void> {
    return this.#opened
  }

  async #read(user: string): Promise<void> {
    this.#user = user
    const open = await otherPages()
    for (const entry of await readEntries(user)) {
      if (entry.page === ownPage || open.has(entry.page)) continue
      this.#left.set(idOf(entry), entry)
      if (!entry.isDone) this.#missing++
    }
    this.#onChange()
  }

  /** Uploads whose file was not chosen again; undefined if there are none. */
  summary(): Interruption | undefined {
    if (this.#missing === 0) return undefined
    const keys: string[] = []
    const buckets = new Set<string>()
    for (const entry of this.#left.values()) {
      if (entry.isDone) continue
      keys.push(entry.key)
      buckets.add(entry.bucket)
      if (keys.length === namesShown) break
    }
    return { count: this.#missing, keys, buckets: [...buckets] }
  }

  /** Whether an earlier page was told that this file is stored. */
  hadArrived(bucket: string, key: string, file: File): boolean {
    const entry = this.#left.get(idOf({ bucket, key }))
    return entry?.isDone === true && entry.sizeBytes === file.size && entry.modifiedMs === file.lastModified
  }

  /** Takes over what an earlier page has sent of the same file. */
  adopt(upload: Upload): void {
    const id = idOf(upload)
    const entry = this.#left.get(id)
    if (entry === undefined) return
    this.#left.delete(id)
    if (!entry.isDone) this.#missing--
    const isSame = entry.sizeBytes === upload.sizeBytes && entry.modifiedMs === upload.modifiedMs
    if (isSame) upload.adopt(entry)
    else if (entry.uploadId !== undefined) void abandon(entry)
  }

  /** Notes how far an upload is. That it is under way changes nothing of what can be continued. */
  note(upload: Upload): void {
    const { bucket, key, sizeBytes, modifiedMs, uploadId, state, hadArrived } = upload
    if (state === 'sending' && uploadId === undefined) return
    const entry = {
      user: this.#user,
      page: ownPage,
      bucket,
      key,
      sizeBytes,
      modifiedMs,
      ...(uploadId !== undefined && { uploadId }),
      // Also what is only to be looked at: another page would take it for one that was never sent.
      isDone: state === 'done' || hadArrived,
    }
    if (state === 'cancelled' || upload.isRefused) this.#ended.add(idOf(entry))
    else this.#ended.delete(idOf(entry))
    this.#changed.set(idOf(entry), entry)
    this.#timer ??= setTimeout(() => this.#write(), writeMs)
  }

  /** All of this page have ended: nothing is left to continue but what is still missing. */
  async settle(): Promise<void> {
    if (this.#missing > 0) return
    await this.#removeAll()
  }

  /** Gives up what is missing, and frees what the server keeps of it. */
  async forget(): Promise<void> {
    const missing = [...this.#left.values()].filter(({ isDone }) => !isDone)
    for (const entry of missing) this.#left.delete(idOf(entry))
    this.#missing = 0
    this.#onChange()
    await this.#after(() => removeEntries(missing))
    for (const entry of missing) if (entry.uploadId !== undefined) await abandon(entry)
  }

  /** Removes all entries when the user signs out, or somebody else has the page. */
  async clear(isAbandoned: boolean): Promise<void> {
    const begun = [...this.#left.values()].filter(({ isDone, uploadId }) => !isDone && uploadId !== undefined)
    await this.#removeAll()
    this.#user = ''
    if (!isAbandoned) return
    for (const entry of begun) await abandon(entry)
  }

  async #removeAll(): Promise<void> {
    const pages = new Set([ownPage, ...Array.from(this.#left.values(), ({ page }) => page)])
    this.#left.clear()
    this.#missing = 0
    this.#changed.clear()
    this.#ended.clear()
    this.#onChange()
    const user = this.#user
    await this.#after(() => removePages(user, pages))
  }

  #write(): void {
    this.#timer = undefined
    const changed = [...this.#changed.values()]
    const ended = this.#ended
    this.#changed.clear()
    this.#ended = new Set()
    void this.#after(async () => {
      await writeEntries(changed.filter(entry => !ended.has(idOf(entry))))
      await removeEntries(changed.filter(entry => ended.has(idOf(entry))))
    })
  }

  #after(work: () => Promise<void>): Promise<void> {
    this.#written = this.#written.then(work)
    return this.#written
  }
}

async function abandon({ bucket, key, uploadId = '' }: Entry): Promise<void> {
  // A rule of the bucket removes what stays.
  await call('abortUpload', { params: { bucket, uploadId }, query: { key } }).catch(() => {})
}
