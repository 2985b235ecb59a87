/** The read side of a set, the same in each thread: records come from the leader, bytes from any drives with shards of them. */
import type { MaybePromise } from 'svc/kernel'
import type {
  BlobReader,
  BlobRef,
  BodyRef,
  CounterEntry,
  Cursor,
  RecordKey,
  StoredRecord,
} from 'svc/plugins/storage/api'
import { SetBlobReader } from './blob-reading.ts'
import { bodyRefOf, readBody, type SetBodyRef } from './body-reading.ts'
import { userValueOf } from './set-record.ts'
import { idInSlot, type Leader, type SetView } from './set-view.ts'

export class SetReading {
  readonly #view: SetView
  readonly #onRequest: () => void

  constructor(view: SetView, onRequest: () => void) {
    this.#view = view
    this.#onRequest = onRequest
  }

  get(key: RecordKey): MaybePromise<StoredRecord | undefined> {
    return this.#ask(({ slot, drive }) => {
      const found = drive.get(key)
      return found instanceof Promise
        ? found.then(record => this.#show(slot, key, record))
        : this.#show(slot, key, found)
    })
  }

  #show(slot: number, key: RecordKey, record: StoredRecord | undefined): StoredRecord | undefined {
    return record && { value: userValueOf(record.value), body: bodyRefOf(this.#view, slot, key, record) }
  }

  scan<T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): MaybePromise<T> {
    return this.#ask(({ slot, drive }) =>
      drive.scan(start, end, cursor => visit(new SetCursor(this.#view, slot, cursor))),
    )
  }

  scanDerived<T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): MaybePromise<T> {
    return this.#ask(({ drive }) => drive.scanDerived(start, end, visit))
  }

  counter(key: RecordKey): MaybePromise<readonly number[]> {
    return this.#ask(({ drive }) => drive.counter(key))
  }

  counters(start: RecordKey, end: RecordKey, limit: number): MaybePromise<readonly CounterEntry[]> {
    return this.#ask(({ drive }) => drive.counters(start, end, limit))
  }

  #ask<Answer>(question: (leader: Leader) => MaybePromise<Answer>): MaybePromise<Answer> {
    this.#onRequest()
    const leader = this.#view.leader()
    return leader instanceof Promise ? leader.then(question) : question(leader)
  }

  readBody(ref: BodyRef): MaybePromise<Buffer> {
    return readBody(this.#view, ref as SetBodyRef)
  }

  pinBlobs(refs: readonly BlobRef[]): () => void {
    const releases: (() => void)[] = []
    for (let slot = 0; slot < this.#view.slotCount; slot++) {
      const drive = this.#view.driveAt(slot)
      if (drive !== undefined) releases.push(drive.pinBlobs(refs.map(ref => ({ ...ref, id: idInSlot(ref.id, slot) }))))
    }
    return () => {
      for (const release of releases.splice(0)) release()
    }
  }

  readBlob(ref: BlobRef, start: number, length: number): BlobReader {
    this.#onRequest()
    return new SetBlobReader(this.#view, ref, start, length)
  }
}

class SetCursor implements Cursor {
  readonly #view: SetView
  readonly #slot: number
  readonly #cursor: Cursor

  constructor(view: SetView, slot: number, cursor: Cursor) {
    this.#view = view
    this.#slot = slot
    this.#cursor = cursor
  }

  seek(key: RecordKey): boolean {
    return this.#cursor.seek(key)
  }

  next(): boolean {
    return this.#cursor.next()
  }

  get key(): Buffer {
    return this.#cursor.key
  }

  get value(): Uint8Array {
    return userValueOf(this.#cursor.value)
  }

  get body(): BodyRef | undefined {
    return bodyRefOf(this.#view, this.#slot, this.#cursor.key, this.#cursor)
  }
}
