/** Uploads that an earlier page did not complete: found when somebody signs in, continued when the same files are chosen again. */
import { call } from '../../api/client.ts'
import { type Entry, readEntries, removeEntries, writeEntries } from './journal.ts'
import { otherPages, ownPage } from './pages.ts'
import type { Upload } from './upload.ts'

const idOf = ({ bucket, key }: { readonly bucket: string; readonly key: string }) => `${bucket}/${key}`

/** Written together, because a folder may have many thousands of files. */
const writeMs = 500

export class InterruptedUploads {
  #user = ''
  #entries = new Map<string, Entry>()
  #changed = new Map<string, Entry>()
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #onChange: () => void

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  /** Reads what this user left behind. */
  async open(user: string): Promise<void> {
    if (this.#user === user) return
    this.#user = user
    const open = await otherPages()
    const left = (await readEntries(user)).filter(({ page }) => page !== ownPage && !open.has(page))
    for (const entry of left) if (!this.#entries.has(idOf(entry))) this.#entries.set(idOf(entry), entry)
    this.#onChange()
  }

  /** Those of which nobody has chosen the file again. */
  missing(uploads: readonly Upload[]): readonly Entry[] {
    if (this.#entries.size === 0) return []
    const known = new Set(uploads.map(idOf))
    return [...this.#entries.values()].filter(entry => !entry.isDone && !known.has(idOf(entry)))
  }

  /** Takes over what an earlier page has sent of the same file. */
  adopt(upload: Upload): void {
    const entry = this.#entries.get(idOf(upload))
    const isSame = entry?.sizeBytes === upload.file.size && entry.modifiedMs === upload.file.lastModified
    if (isSame) upload.adopt(entry)
    else if (entry?.uploadId !== undefined) void abandon(entry)
  }

  /** Notes how far an upload is. */
  note(upload: Upload): void {
    const { bucket, key, file, uploadId, state } = upload
    const entry = {
      user: this.#user,
      page: ownPage,
      bucket,
      key,
      sizeBytes: file.size,
      modifiedMs: file.lastModified,
      ...(uploadId !== undefined && { uploadId }),
      isDone: state === 'done',
    }
    this.#entries.set(idOf(entry), entry)
    this.#changed.set(idOf(entry), entry)
    this.#timer ??= setTimeout(() => void this.#write(), writeMs)
  }

  /** All have ended: nothing is left to continue but what is still missing. */
  async settle(uploads: readonly Upload[]): Promise<void> {
    if (this.missing(uploads).length > 0) return
    await this.#remove([...this.#entries.values()])
  }

  /** Gives up what is missing, and frees what the server keeps of it. */
  async forget(uploads: readonly Upload[]): Promise<void> {
    const missing = this.missing(uploads)
    await this.#remove(missing)
    for (const entry of missing) if (entry.uploadId !== undefined) await abandon(entry)
  }

  /** Of a user who signs out, with everything. */
  async clear(): Promise<void> {
    const all = [...this.#entries.values()]
    await this.#remove(all)
    this.#user = ''
    for (const entry of all) if (entry.uploadId !== undefined && !entry.isDone) await abandon(entry)
  }

  async #remove(entries: readonly Entry[]): Promise<void> {
    for (const entry of entries) {
      this.#entries.delete(idOf(entry))
      this.#changed.delete(idOf(entry))
    }
    await removeEntries(entries)
    this.#onChange()
  }

  async #write(): Promise<void> {
    this.#timer = undefined
    const entries = [...this.#changed.values()]
    this.#changed.clear()
    await writeEntries(entries)
  }
}

async function abandon({ bucket, key, uploadId = '' }: Entry): Promise<void> {
  // A rule of the bucket removes what stays.
  await call('abortUpload', { params: { bucket, uploadId }, query: { key } }).catch(() => {})
}
