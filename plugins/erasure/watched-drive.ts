/** A drive whose asynchronous answers are tracked by an `AnswerWatch`. Synchronous answers are passed on as they are. */
import type { MaybePromise } from 'svc/kernel'
import type { Drive, DriveBlobOptions } from 'svc/plugins/drive/api'
import type { BlobChunk, BlobReader, BlobRef, BlobWriter, BodyRef, Cursor, RecordKey } from 'svc/plugins/storage/api'
import type { AnswerWatch, DriveAnswers } from './answer-watch.ts'
import { procedure } from './set-procedures.ts'

export class WatchedDrive implements Drive {
  readonly #drive: Drive
  readonly answers: DriveAnswers

  constructor(drive: Drive, watch: AnswerWatch) {
    this.#drive = drive
    this.answers = watch.answers()
  }

  /** Not tracked: rebuilding an index takes long. */
  async start(): Promise<void> {
    await this.#drive.start()
    this.answers.resume()
  }

  /** Not tracked. */
  stop(): Promise<void> {
    return this.#drive.stop()
  }

  get driveId(): string {
    return this.#drive.driveId
  }

  get inlineBytesMax(): number {
    return this.#drive.inlineBytesMax
  }

  execute<Result>(name: string, args: unknown, body?: Uint8Array): Promise<Result> {
    const { answers } = this
    if (answers.isSuspended) return Promise.reject(answers.error)
    return answers.watch(this.#drive.execute<Result>(name, args, body))
  }

  /** Makes the drive write, to show that it still can. Also works while it is suspended, but is not tracked then. */
  async probe(): Promise<void> {
    await (this.answers.isSuspended ? this.#drive : this).execute(procedure.probe, undefined)
  }

  #watched<T>(answer: MaybePromise<T>): MaybePromise<T> {
    return answer instanceof Promise ? this.answers.watch(answer) : answer
  }

  get(key: RecordKey) {
    return this.#watched(this.#drive.get(key))
  }

  scan<T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): MaybePromise<T> {
    return this.#watched(this.#drive.scan(start, end, visit))
  }

  scanDerived<T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): MaybePromise<T> {
    return this.#watched(this.#drive.scanDerived(start, end, visit))
  }

  counter(key: RecordKey) {
    return this.#watched(this.#drive.counter(key))
  }

  counters(start: RecordKey, end: RecordKey, limit: number) {
    return this.#watched(this.#drive.counters(start, end, limit))
  }

  readBody(ref: BodyRef) {
    return this.#watched(this.#drive.readBody(ref))
  }

  drives() {
    return this.#watched(this.#drive.drives())
  }

  pinBlobs(refs: readonly BlobRef[]): () => void {
    return this.#drive.pinBlobs(refs)
  }

  createBlob(sizeHint?: number, options?: DriveBlobOptions): BlobWriter {
    return new WatchedWriter(this.#drive.createBlob(sizeHint, options), this.answers)
  }

  syncBlob(id: string): Promise<void> {
    return this.answers.watch(this.#drive.syncBlob(id))
  }

  readBlob(ref: BlobRef, start: number, length: number): BlobReader {
    return new WatchedReader(this.#drive.readBlob(ref, start, length), this.answers)
  }
}

class WatchedWriter implements BlobWriter {
  readonly #writer: BlobWriter
  readonly #answers: DriveAnswers

  constructor(writer: BlobWriter, answers: DriveAnswers) {
    this.#writer = writer
    this.#answers = answers
  }

  get id(): string {
    return this.#writer.id
  }

  write(chunk: Uint8Array): MaybePromise<void> {
    const written = this.#writer.write(chunk)
    return written instanceof Promise ? this.#answers.watch(written) : written
  }

  finish(): Promise<BlobRef> {
    return this.#answers.watch(this.#writer.finish())
  }

  abort(): Promise<void> {
    return this.#answers.watch(this.#writer.abort())
  }
}

class WatchedReader implements BlobReader {
  readonly #reader: BlobReader
  readonly #answers: DriveAnswers

  constructor(reader: BlobReader, answers: DriveAnswers) {
    this.#reader = reader
    this.#answers = answers
  }

  next(): Promise<BlobChunk | undefined> {
    return this.#answers.watch(this.#reader.next(), chunk => chunk?.release())
  }

  close(): void {
    this.#reader.close()
  }
}
