/**
 * The set in a worker thread: reads drives and writes blobs itself, and sends commits to the storage thread. It reads from
 * shared memory which drives can be used and which one leads (`SharedMembers`). Created by `backend.ts`.
 */
import { type MaybePromise, withOwnMemory } from 'svc/kernel'
import type { BlobRef, DriveStatus, ExecuteOptions, Redundancy } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { AnswerWatch } from './answer-watch.ts'
import type { SetBackend } from './backend.ts'
import { Codes } from './codec/codes.ts'
import type { ErasureCode } from './codec/erasure-code.ts'
import { inlineBytesMax } from './erasure-set.ts'
import { createDrive, createSetBlobWriter, createStripeMemory, type SetContext } from './set-drives.ts'
import { SetReading } from './set-reading.ts'
import { type Leader, type MissingShard, requireQuorum, type SetView } from './set-view.ts'
import { StripePool } from './stripe-pool.ts'
import { message, type SetAttachment, SharedMembers } from './thread-messages.ts'
import type { WatchedDrive } from './watched-drive.ts'

const main = 0
/** In ticks of the watch: a second, and half a minute. */
const suspectTicks = 4
const timeoutTicks = 120
/** The leader may change while this thread attaches to it. */
const attachTries = 3

/** Registers this worker's message handlers; `start` attaches to the set. */
export function createWorkerSet(options: SetContext): SetBackend {
  const { threads, ports, drives } = options
  const watch = new AnswerWatch(ports.clock)
  const attached = options.endpoints.map((_, index) => createDrive({ ...options, procedures: {} }, index, watch))
  const newId = drives.blobIds(ports)
  let running: { view: WorkerSet; reading: SetReading; stripes: StripePool } | undefined
  const open = () => {
    if (running === undefined) throw storageErrors.unavailable('The set is not open.')
    return running
  }
  return {
    inlineBytesMax,
    async start() {
      const attachment = await threads.call<SetAttachment>(main, message.attach)
      const view = new WorkerSet(options, attachment, attached, watch)
      await view.attachAll()
      running = {
        view,
        reading: new SetReading(view, () => view.noteRequest()),
        stripes: new StripePool(view.unitBytes),
      }
    },
    async stop() {
      const closing = running
      running = undefined
      await closing?.view.close()
    },
    execute: <Result>(name: string, args: unknown, body?: Uint8Array, options?: ExecuteOptions) =>
      threads.call<Result>(main, message.execute, { name, args, body: body && withOwnMemory(body), options }),
    get: key => open().reading.get(key),
    scan: (start, end, visit) => open().reading.scan(start, end, visit),
    scanDerived: (start, end, visit) => open().reading.scanDerived(start, end, visit),
    counter: key => open().reading.counter(key),
    counters: (start, end, limit) => open().reading.counters(start, end, limit),
    readBody: ref => open().reading.readBody(ref),
    createBlob(sizeHint, { redundancy } = {}) {
      const { view, stripes } = open()
      return createSetBlobWriter(view, stripes, {
        id: newId(),
        redundancy,
        sizeHint,
        ready: () => view.ready(),
        onFinished: (id, blob) => threads.call<void>(main, message.fresh, { id, blob }),
      })
    },
    requireQuorum: () => open().view.requireQuorum(),
    pinBlobs: (refs: readonly BlobRef[]) => open().reading.pinBlobs(refs),
    readBlob: (ref, start, length) => open().reading.readBlob(ref, start, length),
    drives: () => threads.call<readonly DriveStatus[]>(main, message.status),
  }
}

/** Reported to the caller only: this thread alone cannot tell that the drive has failed (see `onDriveError`). */
function noAnswer() {
  return storageErrors.unavailable('The drive has not answered for 30 s.')
}

class WorkerSet implements SetView {
  readonly dataCount: number
  readonly parityCount: number
  readonly slotCount: number
  readonly unitBytes: number
  readonly #codes: Codes
  readonly #options: SetContext
  readonly #shared: SharedMembers
  /** By slot. */
  readonly #drives: readonly WatchedDrive[]
  /** By slot: the opening that this thread is attached to; 0: none. */
  readonly #openings: number[]
  readonly #attaching = new Map<number, Promise<void>>()
  readonly #watch: AnswerWatch

  constructor(options: SetContext, attachment: SetAttachment, drives: readonly WatchedDrive[], watch: AnswerWatch) {
    const { indexes, parityCount, unitBytes, members } = attachment
    this.#options = options
    this.slotCount = indexes.length
    this.parityCount = parityCount
    this.dataCount = indexes.length - parityCount
    this.unitBytes = unitBytes
    this.#codes = new Codes(createStripeMemory(options), this.slotCount)
    this.#shared = new SharedMembers(members)
    this.#drives = indexes.map(index => drives[index]!)
    this.#openings = indexes.map(() => 0)
    this.#watch = watch
    watch.onTick = () => this.#look()
  }

  /**
   * Suspends drives that are offline, reports slow drives to the storage thread, which judges them, and rejects requests that a drive has
   * not answered for long although it still serves the storage thread.
   */
  #look(): void {
    const { tick } = this.#watch
    for (const [slot, { answers }] of this.#drives.entries()) {
      const { oldest } = answers
      if (oldest === undefined) continue
      const ticks = tick - oldest.sinceTick
      if (this.#shared.openingOf(slot) !== this.#openings[slot]) {
        answers.suspend(storageErrors.unavailable('The drive is offline.'))
      } else if (ticks >= timeoutTicks) answers.rejectOlder(timeoutTicks, noAnswer())
      else if (ticks >= suspectTicks && ticks % suspectTicks === 0) {
        this.#options.threads.post(main, message.suspect, { slot })
      }
    }
  }

  codeOf(parityCount: number): ErasureCode {
    return this.#codes.of(parityCount)
  }

  parityOf(redundancy: Redundancy | undefined): number {
    return redundancy === 'reduced' ? Math.min(this.parityCount, this.#options.reducedParityCount) : this.parityCount
  }

  async attachAll(): Promise<void> {
    await Promise.all(this.#drives.map((_, slot) => this.#attach(slot)))
  }

  /** Resolves when this thread is attached to every usable drive. */
  ready(): MaybePromise<void> {
    if (this.#drives.every((_, slot) => this.#isAttached(slot))) return undefined
    return this.attachAll()
  }

  #isAttached(slot: number): boolean {
    const opening = this.#shared.openingOf(slot)
    return opening === 0 || opening === this.#openings[slot]
  }

  #attach(slot: number): Promise<void> {
    const attaching = this.#attaching.get(slot)
    if (attaching !== undefined || this.#isAttached(slot)) return attaching ?? Promise.resolve()
    const begun = this.#attachNow(slot)
    this.#attaching.set(slot, begun)
    return begun
  }

  async #attachNow(slot: number): Promise<void> {
    const opening = this.#shared.openingOf(slot)
    try {
      if (this.#openings[slot] !== 0) await this.#drives[slot]!.stop()
      this.#openings[slot] = 0
      await this.#drives[slot]!.start()
      this.#openings[slot] = opening
    } catch (error) {
      this.#options.log.warn(
        { err: error, slot },
        'a worker thread could not attach to a drive of the set: it serves its requests from the others',
      )
    } finally {
      this.#attaching.delete(slot)
    }
  }

  driveAt(slot: number): WatchedDrive | undefined {
    const opening = this.#shared.openingOf(slot)
    if (opening === 0) return undefined
    if (opening === this.#openings[slot]) {
      this.#drives[slot]!.answers.resume()
      return this.#drives[slot]
    }
    // It was reopened. This call goes on without it; later calls use it.
    void this.#attach(slot)
    return undefined
  }

  requireQuorum(): void {
    requireQuorum(this, this.#shared.currentCount)
  }

  leader(): MaybePromise<Leader> {
    const slot = this.#leaderSlot()
    const drive = this.driveAt(slot)
    return drive === undefined ? this.#leaderSoon() : { slot, drive }
  }

  #leaderSlot(): number {
    const slot = this.#shared.leader
    if (slot === -1) throw storageErrors.unavailable('No drive of the set has all of its records.')
    return slot
  }

  /** The leader may be a drive that this thread is not attached to yet. */
  async #leaderSoon(): Promise<Leader> {
    for (let tries = 0; tries < attachTries; tries++) {
      const slot = this.#leaderSlot()
      await this.#attach(slot)
      const drive = this.driveAt(slot)
      if (drive !== undefined) return { slot, drive }
    }
    throw storageErrors.unavailable('The leading drive of the set has just changed. Try again.')
  }

  generationAt(slot: number): number {
    return this.#shared.generationOf(slot)
  }

  noteRequest(): void {
    this.#shared.noteRequest(this.#options.ports.clock.now())
  }

  onMissingShard(missingShard: MissingShard): void {
    this.#options.threads.post(main, message.missingShard, missingShard)
  }

  onDriveError(slot: number, error: unknown): void {
    const { code, message: text } = error as { code?: unknown; message?: string }
    // 'unavailable' may only mean that the drive is closing in this thread.
    if (code === 'faulty') this.#options.threads.post(main, message.faulty, { slot, message: String(text) })
  }

  async close(): Promise<void> {
    await Promise.all(this.#drives.map((drive, slot) => (this.#openings[slot] === 0 ? undefined : drive.stop())))
  }
}
