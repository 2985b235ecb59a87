/**
 * All uploads of this page, a few at a time. Components read it as a store. A folder may have many thousands of files: what is known of all
 * is counted, and an upload that has ended is forgotten, but for the last few.
 */
import { InterruptedUploads, type Interruption } from './interrupted.ts'
import { Rate } from './rate.ts'
import { type Anew, type MayReplace, Upload } from './upload.ts'

/** Browsers open so many connections to one server. */
const filesAtOnce = 6
const tellMs = 250
const stillMs = 2000
const endedShownMax = 50
/** The page answers to whoever uses it after so long. */
const addMs = 12

export interface Chosen {
  readonly key: string
  readonly file: File
  readonly mayReplace?: MayReplace
}

/** An upload that is over: its file is not kept. */
export interface Ended {
  readonly bucket: string
  readonly key: string
  readonly state: 'done' | 'cancelled'
  /** Why it had begun anew, if it had. */
  readonly anew: Anew | undefined
}

export interface Snapshot {
  /** Files: all that were chosen, and those that are done or cancelled. */
  readonly files: number
  readonly ended: number
  /** How many of those that have ended were cancelled. */
  readonly cancelled: number
  readonly waiting: number
  readonly sending: number
  /** How many of these wait because the server cannot be reached. */
  readonly cut: number
  readonly paused: number
  readonly failed: number
  /** Bytes of all uploads that are not cancelled. */
  readonly bytes: number
  readonly sentBytes: number
  readonly bytesPerSecond: number
  /** Whether one of those that have ended last has begun anew: why is said in the list. */
  readonly hasBegunAnew: boolean
  /** How many can be listed: of those that have ended only the last few. */
  readonly listed: number
  /** Uploads of an earlier page that wait until their files are chosen again. */
  readonly interrupted: Interruption | undefined
  /** Counts up with each change. */
  readonly version: number
}

type Listener = () => void

const idOf = ({ bucket, key }: Pick<Upload, 'bucket' | 'key'>) => `${bucket}/${key}`

class UploadQueue {
  readonly #waiting = new Set<Upload>()
  readonly #sending = new Set<Upload>()
  readonly #sendingIds = new Set<string>()
  readonly #paused = new Set<Upload>()
  readonly #failed = new Set<Upload>()
  #lastEnded: Ended[] = []
  /** Chosen, and not taken in yet. */
  #coming = 0
  /** Everything was paused: what is still taken in is paused too. */
  #isHeld = false
  /** Counts how often everything was cancelled. */
  #discards = 0
  #ended = 0
  #cancelled = 0
  #endedBytes = 0
  /** Bytes of uploads that have not ended. */
  #openBytes = 0
  readonly #rate = new Rate()
  readonly #interrupted = new InterruptedUploads(() => this.#changed())
  #version = 0
  #snapshot: Snapshot = this.#look()
  #timer: ReturnType<typeof setTimeout> | undefined
  #idle: ReturnType<typeof setTimeout> | undefined
  readonly #listeners = new Set<Listener>()
  readonly #onDone = new Set<(bucket: string) => void>()

  subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  snapshot = (): Snapshot => this.#snapshot

  /** Rows from `start` to before `end`. Uploads that need the user come first, ended ones last. */
  rows(start: number, end: number): (Upload | Ended)[] {
    const rows: (Upload | Ended)[] = []
    let index = 0
    for (const group of [this.#failed, this.#sending, this.#paused, this.#waiting, this.#lastEnded]) {
      const size = Array.isArray(group) ? group.length : group.size
      if (index + size <= start) {
        index += size
        continue
      }
      for (const upload of group) {
        if (index >= end) return rows
        if (index++ >= start) rows.push(upload)
      }
    }
    return rows
  }

  /** Tells of each upload that has arrived. */
  onDone(listener: (bucket: string) => void): () => void {
    this.#onDone.add(listener)
    return () => this.#onDone.delete(listener)
  }

  /** Finds what this user did not complete in an earlier page. */
  async open(user: string): Promise<void> {
    await this.#interrupted.open(user)
  }

  /** Until it is known what this user did not complete. */
  get opened(): Promise<void> {
    return this.#interrupted.opened
  }

  /** Whether an earlier page was told that this file is stored at this key. */
  hadArrived(bucket: string, key: string, file: File): boolean {
    return this.#interrupted.hadArrived(bucket, key, file)
  }

  /** Gives up what was interrupted. */
  forgetInterrupted(): Promise<void> {
    return this.#interrupted.forget()
  }

  /** Begins at once, and takes in many files bit by bit: the browser asks the file system for the size of each. */
  async add(bucket: string, chosen: readonly Chosen[]): Promise<void> {
    this.#coming += chosen.length
    let until = performance.now() + addMs
    const discards = this.#discards
    this.#isHeld = false
    for (const one of chosen) {
      if (performance.now() > until) {
        this.#fill()
        await new Promise(done => setTimeout(done))
        until = performance.now() + addMs
      }
      this.#coming--
      // Cancelled meanwhile, with everything that was chosen before.
      if (this.#discards === discards) this.#addOne(bucket, one)
    }
    this.#fill()
    this.#settle()
  }

  #addOne(bucket: string, { key, file, mayReplace = 'nothing' }: Chosen): void {
    const upload: Upload = new Upload(bucket, key, file, mayReplace, isNew => this.#note(upload, isNew))
    this.#openBytes += upload.sizeBytes
    this.#interrupted.adopt(upload)
    this.#note(upload, true)
    if (this.#isHeld) upload.pause()
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
    this.#settle()
  }

  /** Nothing more begins until somebody says so. */
  pauseAll(): void {
    this.#isHeld = true
    // Those that wait first: none of them takes the place of one that is paused.
    for (const upload of [...this.#waiting, ...this.#sending]) upload.pause()
  }

  /** For a session that has ended: nothing of it goes on until somebody signs in and says so. */
  stopAll(): void {
    this.#isHeld = true
    for (const upload of [...this.#waiting, ...this.#sending, ...this.#paused]) upload.stop()
  }

  /** Resumes paused uploads and retries failed ones. */
  resumeAll(): void {
    this.#isHeld = false
    for (const upload of [...this.#paused, ...this.#failed]) upload.wait()
    this.#fill()
  }

  async cancelAll(isAbandoned = true): Promise<void> {
    this.#discards++
    const open = [...this.#waiting, ...this.#sending, ...this.#paused, ...this.#failed]
    await Promise.all(open.map(upload => upload.cancel(isAbandoned)))
  }

  /** Cancels everything, and forgets it. `isAbandoned`: the server is told; not where somebody else has the page by now. */
  async discard({ isAbandoned }: { readonly isAbandoned: boolean }): Promise<void> {
    await this.cancelAll(isAbandoned)
    this.clearEnded()
    await this.#interrupted.clear(isAbandoned)
  }

  clearEnded(): void {
    this.#lastEnded = []
    this.#ended = 0
    this.#cancelled = 0
    this.#endedBytes = 0
    this.#changed()
  }

  get isBusy(): boolean {
    return this.#sending.size + this.#waiting.size + this.#coming > 0
  }

  #fill(): void {
    while (this.#sending.size < filesAtOnce) {
      const next = this.#next()
      if (next === undefined) return
      void next.run().finally(() => {
        this.#fill()
        this.#settle()
      })
    }
  }

  #settle(): void {
    if (!this.isBusy && this.#paused.size + this.#failed.size === 0) void this.#interrupted.settle()
  }

  /** Two files with one key go one after the other, so that the later one is what stays. */
  #next(): Upload | undefined {
    for (const upload of this.#waiting) if (!this.#sendingIds.has(idOf(upload))) return upload
    return undefined
  }

  #note(upload: Upload, isNew: boolean): void {
    if (isNew) {
      this.#place(upload)
      this.#interrupted.note(upload)
      if (upload.state === 'done') for (const listener of this.#onDone) listener(upload.bucket)
    }
    this.#changed()
  }

  #place(upload: Upload): void {
    if (this.#sending.delete(upload)) this.#sendingIds.delete(idOf(upload))
    for (const group of [this.#waiting, this.#paused, this.#failed]) group.delete(upload)
    const { state } = upload
    const groups = { waiting: this.#waiting, sending: this.#sending, paused: this.#paused, failed: this.#failed }
    if (state === 'done' || state === 'cancelled') this.#end(upload, state)
    else groups[state].add(upload)
    if (state === 'sending') this.#sendingIds.add(idOf(upload))
  }

  #end({ bucket, key, sizeBytes, anew }: Upload, state: Ended['state']): void {
    this.#openBytes -= sizeBytes
    if (state === 'done') this.#endedBytes += sizeBytes
    else this.#cancelled++
    this.#ended++
    this.#lastEnded = [{ bucket, key, state, anew }, ...this.#lastEnded.slice(0, endedShownMax - 1)]
  }

  #stillSending = (): void => {
    this.#idle = undefined
    this.#changed()
  }

  #changed = (): void => {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#snapshot = this.#look()
      for (const listener of this.#listeners) listener()
      // That nothing is heard is to be seen, too.
      if (this.#sending.size > 0) this.#idle ??= setTimeout(this.#stillSending, stillMs)
    }, tellMs)
  }

  #look(): Snapshot {
    const open = this.#waiting.size + this.#sending.size + this.#paused.size + this.#failed.size
    let sentBytes = this.#endedBytes
    let cut = 0
    for (const upload of this.#sending) if (upload.isCut) cut++
    // Of those that wait nothing is sent but what an earlier page sent.
    for (const group of [this.#sending, this.#paused, this.#failed])
      for (const upload of group) sentBytes += upload.sentBytes
    return {
      files: open + this.#coming + this.#ended,
      ended: this.#ended,
      cancelled: this.#cancelled,
      waiting: this.#waiting.size + this.#coming,
      sending: this.#sending.size,
      cut,
      paused: this.#paused.size,
      failed: this.#failed.size,
      bytes: this.#openBytes + this.#endedBytes,
      sentBytes,
      bytesPerSecond: this.#rate.of(sentBytes),
      hasBegunAnew: this.#lastEnded.some(({ anew }) => anew !== undefined),
      listed: open + this.#lastEnded.length,
      interrupted: this.#interrupted.summary(),
      version: ++this.#version,
    }
  }
}

export const uploadQueue = new UploadQueue()

addEventListener('beforeunload', event => {
  if (uploadQueue.isBusy) event.preventDefault()
})
