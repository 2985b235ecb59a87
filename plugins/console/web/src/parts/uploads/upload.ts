/** One file on its way into a bucket: in one request, or in parts, of which those that have arrived are never sent again. */
import { call, urlOf } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { withRetries } from '../../api/retries.ts'
import { texts } from '../../texts/index.ts'
import { checksumOf, type Found, isListed, lookFor, requireReadable } from './found.ts'
import { Rate } from './rate.ts'
import { send, type Transfer } from './transfer.ts'

export type UploadState = 'waiting' | 'sending' | 'paused' | 'done' | 'failed' | 'cancelled'

/** Files above this size are sent in parts. */
const singleBytesMax = 16 * 1024 ** 2
const partBytesMin = 16 * 1024 ** 2
const partsMax = 10_000
const partsAtOnce = 3
/** How often one run begins an upload in parts anew. */
const begunAnewMax = 3
const silentAfterMs = 20_000

/**
 * Why an upload had to begin anew: the file is not the one of which parts had arrived, the upload was given up elsewhere, or the object that
 * had arrived is not there any more.
 */
export type Anew = 'otherFile' | 'givenUp' | 'gone'

class BeginsAnew extends Error {
  readonly why: Anew

  constructor(why: Anew) {
    super(texts.uploads.begunAnew[why])
    this.why = why
  }
}

/** What it may take the place of: `anything` where old versions are kept, or what somebody has seen, and agreed to lose. */
export type MayReplace = 'nothing' | 'anything' | { readonly etag: string }

interface Signals {
  /** Ends what is under way. */
  readonly signal: AbortSignal
  /** Lets nothing more begin. */
  readonly hold: AbortSignal
}

export class Upload {
  readonly bucket: string
  readonly key: string
  readonly file: File
  /** Read once: the browser asks the file system each time. */
  readonly sizeBytes: number
  readonly modifiedMs: number
  state: UploadState = 'waiting'
  error: unknown
  /** Bytes of each part that have been sent; of a file in one request they are its first part. Most files only wait: they have none. */
  #sent: Map<number, number> | undefined
  #parts: Map<number, string> | undefined
  #uploadId: string | undefined
  #hadArrived = false
  /** The server has been asked to make the object of its parts: it may have, without an answer. */
  #isCompleting = false
  /** False until the server has told which parts an earlier page had sent. */
  #isAdopted = false
  /** Checksums of parts of an earlier page that have not been compared with the file yet. */
  readonly #unverified = new Map<number, string>()
  /** Set once the upload has begun anew, for the last reason. */
  anew: Anew | undefined
  /** Set while the server cannot be reached, and the upload goes on trying. */
  isCut = false
  /** What the server has of it stays there until a rule of the bucket removes it. */
  #isLeft = false
  #abort: AbortController | undefined
  /** Aborted by a pause: nothing more begins, and what is under way arrives. */
  #hold: AbortController | undefined
  /** Until the latest run has ended. */
  #running: Promise<void> | undefined
  #runs = 0
  #isSending = false
  #rate: Rate | undefined
  /** Requests with bytes of it, and when something of them was heard last. */
  #underWay = 0
  #heardMs = 0
  /** `isNew`: of more than the bytes that have been sent. */
  readonly #onChange: (isNew: boolean) => void

  #mayReplace: MayReplace

  constructor(bucket: string, key: string, file: File, mayReplace: MayReplace, onChange: (isNew: boolean) => void) {
    this.#mayReplace = mayReplace
    this.bucket = bucket
    this.key = key
    this.file = file
    this.sizeBytes = file.size
    this.modifiedMs = file.lastModified
    this.#onChange = onChange
  }

  get #partBytes(): number {
    return Math.max(partBytesMin, Math.ceil(this.sizeBytes / partsMax))
  }

  /** The id of an upload in parts, once it has begun. */
  get uploadId(): string | undefined {
    return this.#uploadId
  }

  /** Whether an earlier page has been told that it is stored, and nothing else is known since. */
  get hadArrived(): boolean {
    return this.#hadArrived
  }

  /** Whether the server has refused it, and has nothing of it: chosen again it is a new one. */
  get isRefused(): boolean {
    return this.state === 'failed' && this.#uploadId === undefined && !this.#hadArrived && isFinal(this.error)
  }

  /** Continues what an earlier page began with the same file. */
  adopt({ uploadId, isDone }: { readonly uploadId?: string; readonly isDone: boolean }): void {
    this.#hadArrived = isDone
    if (isDone) return
    this.#uploadId = uploadId
    this.#isAdopted = uploadId !== undefined
  }

  get sentBytes(): number {
    let bytes = 0
    if (this.#sent !== undefined) for (const sent of this.#sent.values()) bytes += sent
    return Math.min(bytes, this.sizeBytes)
  }

  /** The rate while the file is being sent. */
  get bytesPerSecond(): number {
    this.#rate ??= new Rate()
    return this.#rate.of(this.sentBytes)
  }

  /** Whether it is being sent, and nothing is heard of it. */
  get isSilent(): boolean {
    return this.state === 'sending' && this.#underWay > 0 && Date.now() - this.#heardMs > silentAfterMs
  }

  /** Whether it is paused, and what was under way then has not arrived yet. */
  get isEnding(): boolean {
    return this.state === 'paused' && this.#isSending
  }

  /** Never rejects: the outcome is in `state` and `error`. */
  run(): Promise<void> {
    this.error = undefined
    this.#become('sending')
    this.#running = this.#runAfter(this.#running, ++this.#runs)
    return this.#running
  }

  /** What was under way when it was paused is not sent again beside itself. */
  async #runAfter(earlier: Promise<void> | undefined, run: number): Promise<void> {
    await earlier
    if (this.state !== 'sending' || this.#runs !== run) return
    const abort = new AbortController()
    const hold = new AbortController()
    this.#abort = abort
    this.#hold = hold
    this.#isSending = true
    try {
      const signals = { signal: abort.signal, hold: hold.signal }
      const isWhole =
        (this.#hadArrived && (await this.#isStillThere(signals))) ||
        (await (this.sizeBytes > singleBytesMax ? this.#sendParts(signals) : this.#sendWhole(signals)))
      if (isWhole && !abort.signal.aborted) this.#become('done')
    } catch (error) {
      // Whoever paused or cancelled has set the state; what failed meanwhile is sent again when it goes on.
      if (abort.signal.aborted || hold.signal.aborted) return
      // Other parts of this run must not go on beside those of the next one.
      abort.abort()
      this.error = error
      this.#dropPartial()
      this.#become('failed')
    } finally {
      this.#isSending = false
      if (hold.signal.aborted) this.#dropPartial()
      this.#onChange(false)
    }
  }

  /** What is under way arrives: nothing that was sent is sent again. */
  pause(): void {
    if (this.state !== 'waiting' && this.state !== 'sending') return
    this.#become('paused')
    this.#hold?.abort()
  }

  /** Pauses at once. Parts that have arrived are kept; bytes of the current requests are lost. */
  stop(): void {
    if (this.state !== 'waiting' && this.state !== 'sending' && !this.isEnding) return
    this.#become('paused')
    this.#abort?.abort()
    this.#dropPartial()
  }

  /** What has not arrived whole was not sent. */
  #dropPartial(): void {
    for (const part of this.#sent?.keys() ?? []) if (this.#parts?.has(part) !== true) this.#sent?.delete(part)
  }

  wait(): void {
    this.#become('waiting')
  }

  /** `isAbandoned`: false where somebody else has the page, in whose name nothing is to be asked for. */
  async cancel(isAbandoned = true): Promise<void> {
    this.#isLeft = !isAbandoned
    this.#become('cancelled')
    this.#abort?.abort()
    const uploadId = this.#uploadId
    this.#uploadId = undefined
    if (uploadId !== undefined) await this.#abandon(uploadId)
  }

  async #abandon(uploadId: string): Promise<void> {
    if (this.#isLeft) return
    await call('abortUpload', { params: { bucket: this.bucket, uploadId }, query: { key: this.key } }).catch(() => {})
  }

  async #begin(signals: Signals): Promise<string> {
    const { bucket, key, file } = this
    if (this.#isAdopted) await this.#readArrived(signals)
    const body = { key, contentType: file.type || 'application/octet-stream' }
    const create = () => call('createUpload', { params: { bucket }, body, isQuick: true })
    this.#uploadId ??= (await this.#persist(signals, create)).uploadId
    this.#onChange(true)
    return this.#uploadId
  }

  /** Parts that the server has from an earlier page. An upload that is gone begins again. */
  async #readArrived(signals: Signals): Promise<void> {
    const { bucket, key } = this
    const params = { bucket, uploadId: this.#uploadId! }
    // Parts beyond those that one answer lists are sent again.
    const { parts = [], checksumAlgorithm } = await this.#persist(signals, () =>
      call('getUpload', { params, query: { key } }),
    )
    for (const { partNumber, etag, size, checksum } of parts) {
      // What cannot be compared is sent again.
      if (size !== this.#partSize(partNumber) || checksumAlgorithm !== 'CRC64NVME' || checksum === undefined) continue
      this.#unverified.set(partNumber, checksum)
      this.#arrived(partNumber, etag, size)
    }
    this.#isAdopted = false
  }

  /**
   * Whether the object that had arrived is there, with the bytes of this file. Rejects where it is another one: whoever made it is not to lose it
   * without a question.
   */
  async #isStillThere(signals: Signals): Promise<boolean> {
    let found = await this.#look(signals)
    // A listing tells perhaps that there is one.
    if (found === 'hidden' && (await isListed(this, signals.signal))) found = 'other'
    if (found === 'same') return true
    if (found === 'other') throw new Error(texts.uploads.changedSince)
    this.#hadArrived = false
    if (found === 'gone') this.anew = 'gone'
    this.#onChange(true)
    return false
  }

  /** What stands at its key now. */
  #look(signals: Signals): Promise<Found> {
    return lookFor(this, signals.signal, work => this.#persist(signals, work))
  }

  /** Nothing of what was sent counts any more. */
  #forget(why: Anew): void {
    this.#uploadId = undefined
    this.#isAdopted = false
    this.#isCompleting = false
    this.#parts = undefined
    this.#sent = undefined
    this.#unverified.clear()
    this.anew = why
    this.#onChange(true)
  }

  /** Name, size and date may be those of another file: its bytes decide. Throws `BeginsAnew`. */
  async #verifyArrived({ signal, hold }: Signals): Promise<void> {
    for (const [number, checksum] of this.#unverified) {
      if (hold.aborted) return
      const found = await checksumOf(this.file, this.#partOf(number), signal)
      if (found !== checksum) throw new BeginsAnew('otherFile')
      this.#unverified.delete(number)
    }
  }

  #partOf(number: number): Blob {
    const start = (number - 1) * this.#partBytes
    return this.file.slice(start, start + this.#partBytes)
  }

  #partSize(number: number): number {
    return Math.min(this.#partBytes, this.sizeBytes - (number - 1) * this.#partBytes)
  }

  #become(state: UploadState): void {
    this.state = state
    if (state !== 'sending') this.isCut = false
    this.#onChange(true)
  }

  /** Resolves with whether all of it has arrived. */
  async #sendWhole(signals: Signals): Promise<boolean> {
    const { bucket, key, file } = this
    const contentType = file.type || 'application/octet-stream'
    await this.#storing(signals, headers =>
      this.#persist(signals, () =>
        this.#send({
          method: 'POST',
          url: urlOf('uploadObject', { bucket }, { key }),
          body: file,
          contentType,
          headers,
          ...signals,
          onProgress: bytes => this.#progress(1, bytes),
        }),
      ),
    )
    // Browsers look at the date of a file only when they open it.
    await requireReadable(file, texts.uploads.fileMixed)
    return true
  }

  /** Makes the object. What somebody else has stored meanwhile is not replaced; what an attempt has stored whose answer was lost is the object. */
  async #storing(signals: Signals, store: (headers: Record<string, string>) => Promise<unknown>): Promise<void> {
    try {
      await store(this.#conditions)
    } catch (error) {
      const { status, code } = error instanceof Problem ? error : {}
      if (typeof this.#mayReplace === 'object' && status === 403) {
        // Whoever may list and write, and not read, may name no ETag.
        this.#mayReplace = 'anything'
      } else if (status === 412 || code === 'object_not_found') {
        const found = await this.#look(signals)
        if (found === 'same') return
        if (found === 'other' || (await isListed(this, signals.signal))) throw new Error(texts.uploads.takenSince)
        // Gone again, or hidden from whoever may write alone: they replace it, as every program does.
        this.#mayReplace = found === 'hidden' ? 'anything' : 'nothing'
      } else {
        throw error
      }
      await store(this.#conditions)
    }
  }

  get #conditions(): Record<string, string> {
    if (this.#mayReplace === 'anything') return {}
    return this.#mayReplace === 'nothing' ? { 'if-none-match': '*' } : { 'if-match': `"${this.#mayReplace.etag}"` }
  }

  /** Resolves with whether all of it has arrived, and is one object. */
  async #sendParts(signals: Signals): Promise<boolean> {
    const { signal, hold } = signals
    for (let begunAnew = 0; ; begunAnew++) {
      try {
        return await this.#tryParts(signals)
      } catch (error) {
        const why = isGone(error) ? 'givenUp' : error instanceof BeginsAnew ? error.why : undefined
        if (why === undefined || signal.aborted || hold.aborted || begunAnew === begunAnewMax) throw error
        if (why === 'givenUp' && (await this.#isComplete(signals))) return true
        const uploadId = this.#uploadId
        this.#forget(why)
        if (uploadId !== undefined && why !== 'givenUp') await this.#abandon(uploadId)
      }
    }
  }

  /**
   * Whether an upload that is not there any more has become the object, although nobody was told. Rejects where somebody has stored another one
   * since.
   */
  async #isComplete(signals: Signals): Promise<boolean> {
    const found = await this.#look(signals)
    if (found === 'same') return true
    if (!this.#isCompleting || this.#mayReplace === 'anything') return false
    const isTaken = found === 'other' || (found === 'hidden' && (await isListed(this, signals.signal)))
    if (isTaken && !(await this.#isAsAgreed(signals))) throw new Error(texts.uploads.changedSince)
    return false
  }

  /** Whether what is there is what somebody has agreed to lose. */
  async #isAsAgreed(signals: Signals): Promise<boolean> {
    const { bucket, key } = this
    if (typeof this.#mayReplace !== 'object') return false
    const stat = () => call('statObject', { params: { bucket }, query: { key } })
    // Hidden from the caller, or gone.
    const found = await this.#persist(signals, stat).catch(() => undefined)
    return found?.etag === this.#mayReplace.etag
  }

  /** Rejects only when nothing of it goes on any more: the next try must not meet it. */
  async #tryParts({ signal, hold }: Signals): Promise<boolean> {
    const { bucket, key, sizeBytes } = this
    const uploadId = await this.#begin({ signal, hold })
    // Without the signal: an upload that has begun has to be known, to be aborted or continued.
    if (this.state === 'cancelled') {
      await this.#abandon(uploadId)
      return false
    }
    signal.throwIfAborted()
    const count = Math.ceil(sizeBytes / this.#partBytes)
    const missing = Array.from({ length: count }, (_, index) => index + 1).filter(number => !this.#parts?.has(number))
    const failure = new AbortController()
    const signals = { signal: AbortSignal.any([signal, failure.signal]), hold }
    const work = Array.from({ length: Math.min(partsAtOnce, missing.length) }, async () => {
      for (let number = missing.shift(); number !== undefined && !hold.aborted; number = missing.shift()) {
        await this.#sendPart(uploadId, number, signals).catch(error => {
          // The others arrive.
          if (!hold.aborted) throw error
        })
      }
    })
    work.push(this.#verifyArrived(signals))
    try {
      await Promise.all(work)
    } catch (error) {
      failure.abort()
      await Promise.allSettled(work)
      throw error
    }
    if (hold.aborted) return false
    const parts = [...(this.#parts ?? [])].sort(([a], [b]) => a - b).map(([partNumber, etag]) => ({ partNumber, etag }))
    await requireReadable(this.file)
    this.#isCompleting = true
    await this.#storing({ signal, hold }, headers =>
      this.#persist({ signal, hold }, () =>
        call('completeUpload', {
          headers,
          params: { bucket, uploadId },
          query: { key },
          body: { parts },
          signal,
          isQuick: true,
        }),
      ),
    )
    return true
  }

  async #sendPart(uploadId: string, number: number, signals: Signals): Promise<void> {
    const { bucket, key } = this
    const body = this.#partOf(number)
    const { etag } = await this.#persist(signals, () =>
      this.#send<{ etag: string }>({
        method: 'PUT',
        url: urlOf('uploadPart', { bucket, uploadId, partNumber: String(number) }, { key }),
        body,
        contentType: 'application/octet-stream',
        ...signals,
        onProgress: bytes => this.#progress(number, bytes),
      }),
    )
    this.#arrived(number, etag, body.size)
  }

  async #send<T>(transfer: Omit<Transfer, 'onBegin'>): Promise<T> {
    let isBegun = false
    const onBegin = () => {
      // Once, however often it is sent anew.
      if (!isBegun) this.#underWay++
      isBegun = true
      this.#heardMs = Date.now()
    }
    try {
      return await send<T>({ ...transfer, onBegin })
    } finally {
      if (isBegun) this.#underWay--
    }
  }

  #arrived(part: number, etag: string, bytes: number): void {
    this.#parts ??= new Map()
    this.#parts.set(part, etag)
    this.#progress(part, bytes)
  }

  /** Repeats the work while the server cannot be reached. A file that can no longer be read ends the upload. */
  async #persist<T>({ signal, hold }: Signals, work: () => Promise<T>): Promise<T> {
    const cut = (isCut: boolean) => {
      if (this.isCut === isCut) return
      this.isCut = isCut
      this.#onChange(false)
    }
    try {
      return await withRetries(AbortSignal.any([signal, hold]), work, async () => {
        await requireReadable(this.file)
        cut(true)
      })
    } finally {
      cut(false)
    }
  }

  #progress(part: number, bytes: number): void {
    this.#heardMs = Date.now()
    this.#sent ??= new Map()
    this.#sent.set(part, bytes)
    this.#onChange(false)
  }
}

/** The upload itself: a bucket that is gone stays gone. */
const isGone = (error: unknown) => error instanceof Problem && error.code === 'upload_not_found'

/** What the server has said no to itself: not what a new session, or the same request a little later, may do. */
const isFinal = (error: unknown) =>
  error instanceof Problem && error.isOfServer && error.status < 500 && ![401, 408, 429].includes(error.status)
