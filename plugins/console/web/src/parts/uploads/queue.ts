/** All uploads of this page, a few at a time. Components read it as a store, at most ten times a second, of many files less often. */
import { InterruptedUploads } from './interrupted.ts'
import type { Entry } from './journal.ts'
import { Upload } from './upload.ts'

const filesAtOnce = 3
const tellMs = 100
/** Of that many uploads each news takes a while: there is less of it, so that sending them goes on. */
const uploadsPerTellMs = 40

export interface Chosen {
  readonly key: string
  readonly file: File
}

export interface Snapshot {
  readonly uploads: readonly Upload[]
  /** Of an earlier page, waiting for their files to be chosen again. */
  readonly interrupted: readonly Entry[]
  /** Counts up with each change. */
  readonly version: number
  readonly bytesPerSecond: number
}

type Listener = () => void

class UploadQueue {
  #uploads: Upload[] = []
  #running = 0
  #snapshot: Snapshot = { uploads: [], interrupted: [], version: 0, bytesPerSecond: 0 }
  readonly #interrupted = new InterruptedUploads(() => this.#changed())
  #timer: ReturnType<typeof setTimeout> | undefined
  #rateFrom = { timeMs: 0, bytes: 0 }
  readonly #listeners = new Set<Listener>()
  readonly #onDone = new Set<(bucket: string) => void>()

  subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  snapshot = (): Snapshot => this.#snapshot

  /** Tells of each upload that has arrived. */
  onDone(listener: (bucket: string) => void): () => void {
    this.#onDone.add(listener)
    return () => this.#onDone.delete(listener)
  }

  /** Finds what this user did not complete in an earlier page. */
  async open(user: string): Promise<void> {
    await this.#interrupted.open(user)
  }

  /** Gives up what was interrupted. */
  forgetInterrupted(): Promise<void> {
    return this.#interrupted.forget(this.#uploads)
  }

  add(bucket: string, chosen: readonly Chosen[]): void {
    for (const { key, file } of chosen) {
      const upload: Upload = new Upload(bucket, key, file, isNew => this.#note(upload, isNew))
      this.#interrupted.adopt(upload)
      this.#interrupted.note(upload)
      this.#uploads.push(upload)
    }
    this.#changed()
    this.#fill()
  }

  pause(upload: Upload): void {
    upload.pause()
  }

  resume(upload: Upload): void {
    upload.wait()
    this.#fill()
  }

  async cancel(upload: Upload): Promise<void> {
    await upload.cancel()
  }

  /** For a session that has ended: nothing goes on until somebody says so. */
  pauseAll(): void {
    for (const upload of this.#uploads) upload.pause()
  }

  /** Cancels everything, and forgets it. */
  async discard(): Promise<void> {
    const open = this.#uploads.filter(isOpen)
    this.#uploads = []
    this.#changed()
    await Promise.all(open.map(upload => upload.cancel()))
    await this.#interrupted.clear()
  }

  clearEnded(): void {
    this.#uploads = this.#uploads.filter(isOpen)
    this.#changed()
  }

  get isBusy(): boolean {
    return this.#uploads.some(({ state }) => state === 'sending' || state === 'waiting')
  }

  #fill(): void {
    while (this.#running < filesAtOnce) {
      const next = this.#uploads.find(upload => upload.state === 'waiting' && !this.#isSending(upload))
      if (next === undefined) return
      this.#running++
      void next.run().finally(() => {
        this.#running--
        if (next.state === 'done') for (const listener of this.#onDone) listener(next.bucket)
        this.#fill()
        if (this.#running === 0 && !this.#uploads.some(isOpen)) void this.#interrupted.settle(this.#uploads)
      })
    }
  }

  /** Two files with one key go one after the other, so that the later one is what stays. */
  #isSending({ bucket, key }: Upload): boolean {
    return this.#uploads.some(other => other.state === 'sending' && other.bucket === bucket && other.key === key)
  }

  #note(upload: Upload, isNew: boolean): void {
    if (isNew) this.#interrupted.note(upload)
    this.#changed()
  }

  #changed = (): void => {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined
        this.#snapshot = {
          uploads: [...this.#uploads],
          interrupted: this.#interrupted.missing(this.#uploads),
          version: this.#snapshot.version + 1,
          bytesPerSecond: this.#rate(),
        }
        for (const listener of this.#listeners) listener()
      },
      Math.max(tellMs, this.#uploads.length / uploadsPerTellMs),
    )
  }

  /** Over the last seconds. */
  #rate(): number {
    const bytes = this.#uploads.reduce((sum, { sentBytes }) => sum + sentBytes, 0)
    const timeMs = Date.now()
    const elapsedMs = timeMs - this.#rateFrom.timeMs
    if (elapsedMs < 1000) return this.#snapshot.bytesPerSecond
    const rate = Math.max(0, ((bytes - this.#rateFrom.bytes) / elapsedMs) * 1000)
    const isFirst = elapsedMs > 60_000
    this.#rateFrom = { timeMs, bytes }
    return isFirst ? 0 : rate
  }
}

function isOpen({ state }: Upload): boolean {
  return state !== 'done' && state !== 'cancelled'
}

export const uploadQueue = new UploadQueue()

addEventListener('beforeunload', event => {
  if (uploadQueue.isBusy) event.preventDefault()
})
