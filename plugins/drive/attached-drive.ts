/**
 * The drive in a worker thread. It reads the index and the journal files itself and writes blobs itself; only commits go to the
 * storage thread, which alone may commit. A read needs a message only when the memtable may have a newer state (`SharedState`).
 */
import { type Logger, type MaybePromise, promised, type Threads, withOwnMemory } from 'svc/kernel'
import type {
  BlobReader,
  BlobRef,
  BlobWriter,
  BodyRef,
  CounterEntry,
  Cursor,
  DriveStatus,
  RecordKey,
  StoredRecord,
} from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import type { Drive } from './api.ts'
import { BlobFiles } from './blob-files.ts'
import { BlobMarks } from './blob-marks.ts'
import { BlobPins } from './blob-pins.ts'
import { BlobReading, DriveBlobReader } from './blob-reader.ts'
import { type BlobWriterOptions, blobWriting, DriveBlobWriter } from './blob-writer.ts'
import { type ArenaRegion, BodyArena } from './body-arena.ts'
import { BodyReader } from './body-reader.ts'
import { asBuffer, decodeCounter, keyText } from './bytes.ts'
import { type DriveConfig, inlineBytesMax } from './config.ts'
import { walk, walkOver } from './cursor.ts'
import { type DamageFinding, explainedBody, type NoteDamage } from './damage.ts'
import type { DrivePorts } from './disk.ts'
import { noPosition } from './drive.ts'
import { positionKey } from './index-position.ts'
import type { IndexStore } from './index-store.ts'
import { segmentName } from './journal.ts'
import { walkPacked } from './memtable-walk.ts'
import { Place } from './place.ts'
import { SharedState } from './shared-state.ts'
import { createSpaceBudget } from './space.ts'
import { storedBody, storedValue, verifyStored } from './stored-record.ts'
import {
  type AnswerMessage,
  type Attachment,
  type ExecuteMessage,
  type MemtableAnswer,
  type MemtableQuestion,
  message,
  unpackError,
} from './thread-messages.ts'

export interface AttachedDriveOptions {
  readonly threads: Threads
  readonly config: DriveConfig
  readonly ports: DrivePorts
  readonly log: Logger
  /** See `DriveOptions` of `api.ts`. */
  readonly isAlone: boolean | undefined
  openIndex(path: string): IndexStore
}

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
  readonly body: Uint8Array | undefined
  readonly region: ArenaRegion | undefined
}

const main = 0
const memtableAttemptsMax = 10

/** Registers this worker's message handlers; `start` attaches to the storage thread. */
export function createAttachedDrive(options: AttachedDriveOptions): Drive {
  const { threads } = options
  let drive: AttachedDrive | undefined
  const open = (): AttachedDrive => {
    if (drive === undefined || drive.isDetached) throw storageErrors.unavailable('The drive is not open.')
    return drive
  }
  let isWanted = false
  let attaching: Promise<void> | undefined
  const attach = async (): Promise<void> => {
    const attachment = await threads.call<Attachment>(main, message.attach)
    const index = options.openIndex(`${attachment.path}/index`)
    index.onLost = ({ message: reason }) => {
      // The storage thread may be closing the drive already.
      threads.call<void>(main, message.indexLost, reason).catch(() => undefined)
    }
    const attached = new AttachedDrive(options, attachment, index)
    if (attached.isDetached) {
      // The storage thread has closed it meanwhile, and its order to release may have come before there was anything to close.
      await attached.close()
      throw storageErrors.unavailable('The drive is not open.')
    }
    drive = attached
  }
  /** As `open`, but a drive that alone has its data is waited for while the storage thread opens it again. */
  const whenOpen = <T>(use: (opened: AttachedDrive) => MaybePromise<T>): MaybePromise<T> => {
    if (drive?.isDetached === false || !isWanted || options.isAlone !== true) return use(open())
    attaching ??= release()
      .then(attach)
      .finally(() => {
        attaching = undefined
      })
    return attaching.then(() => use(open()))
  }
  const release = async (): Promise<void> => {
    const closing = drive
    drive = undefined
    await closing?.close()
  }
  threads.handle(message.release, release)
  threads.handle(message.forgetSegment, (segment: number) => drive?.bodies.forget(segment))
  return {
    inlineBytesMax,
    async start() {
      if (drive !== undefined) throw new Error('the drive is open')
      isWanted = true
      await attach()
    },
    async stop() {
      isWanted = false
      await release()
    },
    execute: <Result>(procedure: string, args: unknown, body?: Uint8Array) =>
      promised(() => whenOpen(opened => opened.execute(procedure, args, body)) as Promise<Result>),
    get: key => whenOpen(opened => opened.get(key)),
    scan: (start, end, visit) => whenOpen(opened => opened.scan('records', start, end, visit)),
    scanDerived: (start, end, visit) => whenOpen(opened => opened.scan('derived', start, end, visit)),
    counter: key => whenOpen(opened => opened.counter(key)),
    counters: (start, end, limit) => whenOpen(opened => opened.counters(start, end, limit)),
    readBody: ref => whenOpen(opened => opened.readBody(ref)),
    createBlob: (_sizeHint, options) => open().createBlob(options?.id),
    syncBlob: async id => open().syncBlob(id),
    pinBlobs: refs => open().pinBlobs(refs),
    readBlob: (ref, start, length) => open().readBlob(ref, start, length),
    drives: () => threads.call<readonly DriveStatus[]>(main, message.status),
    get driveId() {
      return open().driveId
    },
  }
}

class AttachedDrive {
  readonly driveId: string
  readonly bodies: BodyReader
  readonly #threads: Threads
  readonly #index: IndexStore
  readonly #shared: SharedState
  readonly #arena: BodyArena
  readonly #pins: BlobPins
  readonly #noteDamage: NoteDamage | undefined
  readonly #blobReading: BlobReading
  readonly #blobWriting: BlobWriterOptions
  #outgoing: ExecuteMessage[] = []
  #waiting: Waiting[] = []
  #epoch = -1
  #isClosed = false

  constructor(
    { threads, config, ports, log, isAlone }: AttachedDriveOptions,
    attachment: Attachment,
    index: IndexStore,
  ) {
    const { path, startMs } = attachment
    this.driveId = attachment.driveId
    this.#threads = threads
    this.#index = index
    this.#shared = new SharedState(attachment.state)
    this.#arena = new BodyArena(attachment.arena)
    this.#pins = new BlobPins(attachment.pins)
    this.bodies = new BodyReader(ports.disk, segment => `${path}/journal/${segmentName(segment)}`, config.cacheBytes)
    const files = new BlobFiles({
      disk: ports.disk,
      place: new Place(ports.disk, `${path}/blobs`, attachment.device),
      clock: ports.clock,
      random: ports.random,
      log,
      startMs,
      marks: new BlobMarks(attachment.marks),
      spare: id => threads.call<void>(main, message.spareBlob, id),
      discard: id => threads.call<void>(main, message.discardBlob, id),
    })
    if (isAlone)
      this.#noteDamage = (place, reason) => threads.call<DamageFinding>(main, message.noteDamage, [place, reason])
    this.#blobReading = new BlobReading(ports.disk, files, config.readBufferBytes, this.#noteDamage)
    this.#blobWriting = blobWriting(ports.disk, files, config, createSpaceBudget(this.#shared.spaceCells))
  }

  execute(procedure: string, args: unknown, body: Uint8Array | undefined): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(storageErrors.unavailable('The drive is being closed.'))
    return new Promise((resolve, reject) => {
      const placed = body === undefined ? undefined : this.#arena.place(body)
      if (this.#outgoing.length === 0) setImmediate(this.#send)
      this.#outgoing.push({
        procedure,
        args,
        body: placed === undefined ? body && withOwnMemory(body) : undefined,
        bodyOffset: placed?.offset ?? -1,
        bodySize: body?.length ?? 0,
      })
      this.#waiting.push({ resolve, reject, body, region: placed?.region })
    })
  }

  readonly #send = (): void => {
    const items = this.#outgoing
    const waiting = this.#waiting
    this.#outgoing = []
    this.#waiting = []
    this.#hand(items, waiting)
  }

  async #hand(items: readonly ExecuteMessage[], waiting: readonly Waiting[]): Promise<void> {
    try {
      this.#settle(waiting, await this.#threads.call<AnswerMessage[]>(main, message.execute, items))
    } catch (error) {
      if ((error as Error).name === 'DataCloneError' && this.#dropUnsendable(items, waiting, error as Error)) return
      for (const { reject, region } of waiting) {
        if (region !== undefined) this.#arena.free(region)
        reject(error as Error)
      }
    }
  }

  /**
   * Called when a message could not be sent because some arguments cannot be cloned: rejects those calls and sends the others
   * again. False when all arguments can be cloned: then a result could not be, and the changes have been made.
   */
  #dropUnsendable(items: readonly ExecuteMessage[], waiting: readonly Waiting[], error: Error): boolean {
    const isSendable = items.map(canBeCloned)
    if (isSendable.every(Boolean)) return false
    for (const [i, { reject, region }] of waiting.entries()) {
      if (isSendable[i]) continue
      if (region !== undefined) this.#arena.free(region)
      reject(error)
    }
    const rest = items.filter((_, i) => isSendable[i])
    if (rest.length > 0) {
      void this.#hand(
        rest,
        waiting.filter((_, i) => isSendable[i]),
      )
    }
    return true
  }

  #settle(waiting: readonly Waiting[], answers: readonly AnswerMessage[]): void {
    for (const [i, { resolve, reject, body, region }] of waiting.entries()) {
      const { result, error, place } = answers[i]!
      if (region !== undefined) this.#arena.free(region)
      if (error !== undefined) {
        reject(unpackError(error))
        continue
      }
      if (place !== undefined && body !== undefined) this.bodies.remember(place.segment, place.offset, body)
      resolve(result)
    }
  }

  /** Whether the storage thread has closed the drive; it may have opened it again since. */
  get isDetached(): boolean {
    return this.#shared.isClosed
  }

  /** Renews the index snapshot if the storage thread has written a checkpoint since. */
  #refresh(): void {
    const { epoch } = this.#shared
    if (epoch === this.#epoch) return
    this.#index.refresh()
    this.#epoch = epoch
  }

  get(key: RecordKey): MaybePromise<StoredRecord | undefined> {
    if (this.#shared.mayBeInMemtable(keyText(key))) return this.#ask(key)
    this.#refresh()
    const stored = this.#index.get('records', key)
    if (stored === undefined) return undefined
    verifyStored(stored)
    return { value: storedValue(stored), body: storedBody(stored) }
  }

  async #ask(key: RecordKey): Promise<StoredRecord | undefined> {
    const record = await this.#threads.call<StoredRecord | undefined>(main, message.get, key)
    return record === undefined ? undefined : { value: asBuffer(record.value), body: record.body }
  }

  scan<T>(
    table: 'records' | 'derived',
    start: RecordKey,
    end: RecordKey,
    visit: (cursor: Cursor) => T,
  ): MaybePromise<T> {
    if (!this.#shared.hasMemtableRecords) {
      this.#refresh()
      return walk(this.#index, table, [], start, end, visit)
    }
    return this.#threads.call<void>(main, message.flush).then(
      () => {
        this.#refresh()
        return walk(this.#index, table, [], start, end, visit)
      },
      () => this.#scanWithMemtable(table, start, end, visit),
    )
  }

  /**
   * Scan that lays the memtable, asked from the storage thread, over the index: for the time in which a full drive cannot write
   * its index.
   */
  async #scanWithMemtable<T>(
    table: 'records' | 'derived',
    start: RecordKey,
    end: RecordKey,
    visit: (cursor: Cursor) => T,
  ): Promise<T> {
    const question: MemtableQuestion = { table, start: new Uint8Array(start), end: new Uint8Array(end) }
    for (let attempt = 0; attempt < memtableAttemptsMax; attempt++) {
      const { positions, entries } = await this.#threads.call<MemtableAnswer>(main, message.memtable, question)
      // Refresh and walk run in one turn, so both see the same snapshot. A snapshot newer than the answer would show some changes
      // twice.
      this.#index.refresh()
      const position = this.#index.get('internal', positionKey) ?? noPosition
      if (positions.some(other => position.equals(other)))
        return walkOver(this.#index, table, walkPacked(entries), start, end, visit)
    }
    throw storageErrors.unavailable('The index changes faster than it can be read.')
  }

  counter(key: RecordKey): MaybePromise<readonly number[]> {
    if (this.#shared.hasMemtableRecords) return this.#threads.call<readonly number[]>(main, message.counter, key)
    this.#refresh()
    const bytes = this.#index.get('counters', key)
    return bytes === undefined ? [] : decodeCounter(bytes)
  }

  counters(start: RecordKey, end: RecordKey, limit: number): Promise<readonly CounterEntry[]> {
    return this.#threads.call(main, message.counters, [new Uint8Array(start), new Uint8Array(end), limit])
  }

  readBody(ref: BodyRef): MaybePromise<Buffer> {
    return explainedBody(this.bodies.read(ref), ref, this.#noteDamage)
  }

  createBlob(id?: string): BlobWriter {
    return new DriveBlobWriter(this.#blobWriting, id)
  }

  syncBlob(id: string): Promise<void> {
    return this.#blobReading.files.sync(id)
  }

  pinBlobs(refs: readonly BlobRef[]): () => void {
    return this.#pins.pin(refs)
  }

  readBlob(ref: BlobRef, start: number, length: number): BlobReader {
    return new DriveBlobReader(this.#blobReading, ref, start, length)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.bodies.close()
    await this.#index.close()
  }
}

function canBeCloned(item: ExecuteMessage): boolean {
  try {
    structuredClone(item.args)
    return true
  } catch {
    return false
  }
}
