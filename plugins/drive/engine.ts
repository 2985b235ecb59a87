/**
 * The engine of one drive: runs the procedures of clients one at a time, writes their changes to the journal in batches (group
 * commit), and settles each caller's promise when its batch is on stable storage. One instance per open drive, in the storage
 * thread. `Drive` calls it for its own thread and for workers; compaction and the rescue of damaged segments use `runInBackground`.
 *
 * A transaction goes through the states below. Everything derived from its records (counters, derived entries, blob reference
 * counts, segment use) goes through them with it.
 *
 * | State of a transaction | In memory | On disk | Seen by | Next |
 * |---|---|---|---|---|
 * | queued | procedure, arguments | nothing | nobody | run: filled; it throws while no write is pending: settled at once |
 * | filled | `filling`, batch buffer | nothing | later procedures | its batch is sealed: in flight; the batch before it fails: queued or rejected |
 * | in flight | `inFlight` | unknown | later procedures | written and synced: durable; ENOSPC: rejected or queued again; other error: rejected, drive faulty |
 * | durable | `durable` | journal | everybody; acknowledged | checkpoint begins: frozen |
 * | frozen | `frozen` | journal | everybody | index commit: indexed; index commit fails: tried again |
 * | indexed | nothing | journal, index | everybody | index flushed: its segment may be compacted away |
 *
 * Invariants, cited by the tests:
 *
 * 1. An acknowledged write survives `kill -9` and power loss: `execute` resolves after the journal write is synced, not before.
 * 2. A write that was not acknowledged is wholly visible or not at all: a batch counts only when all its checksums match.
 * 3. The index equals the replay of the journal at every checkpoint: commits and replay both go through `DriveState.apply`, and
 *    the index transaction that writes the changes also writes the journal position they reach.
 * 4. No acknowledged byte is returned wrong: every record, body and blob block is verified on read. The start fails if records that it
 *    replays from the journal are damaged. Exception: if the last batch does not verify, it counts as torn and is dropped, unless the
 *    high-water mark proves that it was complete.
 * 5. Preconditions are evaluated under the commit lock: procedures run one at a time and see the changes of all earlier ones.
 * 6. Counters always equal the sums over the records: both change in the same call.
 * 7. A full disk refuses new writes and harms nothing stored: a failed batch is rolled back whole. Deletes go on even when other
 *    software has taken the last byte: the ballast is released for them, and each delete is tried several times.
 */
import { type Clock, isCatalogError, type Logger } from 'svc/kernel'
import type { Procedure } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { alignUp } from './aligned-memory.ts'
import { Batch } from './batch.ts'
import { ChangeSet } from './changes.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { BatchPlace, Journal } from './journal.ts'
import { isOutOfSpace } from './space.ts'
import type { DriveState, MemtableObserver } from './state.ts'
import { DriveTransaction } from './transaction.ts'

/** Sequences are milliseconds times this, plus a counter. */
const sequencesPerMs = 2048
/** Procedures that run before the event loop gets its turn. */
const proceduresPerTurnMax = 256
/** Transactions (successful or failed) in one batch. */
const outcomesPerBatchMax = 4096
/** Retries of a delete that found no space, and the pause before each when the ballast had nothing to release. */
const spaceRetriesMax = 4
const spaceRetryMs = 100

export interface EngineOptions {
  readonly state: DriveState
  readonly journal: Journal
  readonly checkpoints: Checkpoints
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly clock: Clock
  readonly log: Logger
  readonly inlineBytesMax: number
  /** Whether transactions that need room must be refused. */
  isFull(): boolean
  /** Called when a journal write failed for lack of space. */
  onFull(error: unknown): void
  /** Releases ballast for deletes. False when there is none left. */
  makeRoom(): Promise<boolean>
  /** A body that has just become durable, for the read cache. */
  onBody(segment: number, offset: number, bytes: Uint8Array): void
  /** Blobs that have lost their last durable reference. */
  onUnreferenced(ids: readonly string[]): void
  onFaulty(error: unknown): void
  readonly observer: MemtableObserver | undefined
}

/** The location of a body in the journal. */
export interface BodyPlace {
  readonly segment: number
  readonly offset: number
}

/** Work for the commit lock: a declared procedure, or one of the engine's own (compaction). */
interface Pending {
  readonly run: (tx: DriveTransaction) => unknown
  readonly resolve: (result: unknown, body: BodyPlace | undefined) => void
  readonly reject: (error: unknown) => void
  /**
   * `own`: the body goes into the read cache of this thread. `worker`: into that of the worker.
   * `background`: rejected at once when there is no space.
   */
  readonly origin: 'own' | 'worker' | 'background'
  body: BodyPlace | undefined
  outcome: unknown
  failed: boolean
  /** Whether it stores more than it removes. */
  needsRoom: boolean
  /** How often its batch has failed for lack of space. */
  refusals: number
}

export class Engine {
  readonly #options: EngineOptions
  readonly #transaction: DriveTransaction
  #queue: Pending[] = []
  #queueHead = 0
  #filling: Batch<Pending>
  #inFlight: Batch<Pending> | undefined
  #spare: Batch<Pending>
  #hasBegun = false
  #scheduled = false
  #isClosing = false
  #idle: (() => void) | undefined
  sequence: number
  fault: unknown

  constructor(options: EngineOptions, sequence: number) {
    this.#options = options
    this.#transaction = new DriveTransaction(options.state, options.inlineBytesMax)
    this.sequence = sequence
    this.#filling = new Batch(options.journal.batchBytes)
    this.#spare = new Batch(options.journal.batchBytes)
  }

  execute(name: string, args: unknown, body: Uint8Array | undefined): Promise<unknown> {
    const procedure = this.#options.procedures[name]
    if (procedure === undefined) return Promise.reject(new Error(`No procedure ${JSON.stringify(name)} is defined.`))
    return this.run(tx => procedure(tx, args, body))
  }

  /** Runs a synchronous function under the commit lock. Resolves with its result when its changes are durable. */
  run<T>(change: (tx: DriveTransaction) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#add(change, resolve as (result: unknown) => void, reject, 'own')
    })
  }

  /** As `run`, for housekeeping: gets none of the space reserved for deletes, and rejects with `full` when there is no other. */
  runInBackground(change: (tx: DriveTransaction) => void): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#add(change, resolve as (result: unknown) => void, reject, 'background')
    })
  }

  /** As `execute`, for a worker thread, which will reuse the body's memory. */
  submit(
    name: string,
    args: unknown,
    body: Uint8Array | undefined,
    resolve: (result: unknown, body: BodyPlace | undefined) => void,
    reject: (error: unknown) => void,
  ): void {
    const procedure = this.#options.procedures[name]
    if (procedure === undefined) reject(new Error(`No procedure ${JSON.stringify(name)} is defined.`))
    else this.#add(tx => procedure(tx, args, body), resolve, reject, 'worker')
  }

  #add(
    run: (tx: DriveTransaction) => unknown,
    resolve: (result: unknown, body: BodyPlace | undefined) => void,
    reject: (error: unknown) => void,
    origin: Pending['origin'],
  ): void {
    const refusal = this.#refusal()
    if (refusal !== undefined) {
      reject(refusal)
      return
    }
    this.#queue.push({
      run,
      resolve,
      reject,
      origin,
      body: undefined,
      outcome: undefined,
      failed: false,
      needsRoom: false,
      refusals: 0,
    })
    this.#schedule()
  }

  #refusal(): unknown {
    if (this.fault !== undefined) return faulty(this.fault)
    return this.#isClosing ? storageErrors.unavailable('The drive is being closed.') : undefined
  }

  get isQuiet(): boolean {
    return this.#inFlight === undefined && this.#filling.outcomes.length === 0 && this.#queue.length === this.#queueHead
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#scheduled = false
    this.#pump()
  }

  #pump(): void {
    this.#fill()
    if (this.#inFlight === undefined) this.#flush()
    const isWaiting = this.#queue.length > this.#queueHead
    if (isWaiting && !this.#filling.isFull && this.#filling.outcomes.length < outcomesPerBatchMax) {
      if (!this.#options.checkpoints.isBehind) this.#schedule()
    }
    if (this.#idle !== undefined && !isWaiting && this.#inFlight === undefined) this.#idle()
  }

  /** Resumes after a checkpoint that the queue was waiting for. */
  wake(): void {
    this.#schedule()
  }

  /** Runs queued procedures into the batch that is being filled. */
  #fill(): void {
    if (this.fault !== undefined) return
    if (this.#options.checkpoints.isBehind) {
      if (this.#options.checkpoints.isStuck) this.#refuseQueued()
      return
    }
    const batch = this.#filling
    for (let count = 0; count < proceduresPerTurnMax && this.#queueHead < this.#queue.length; count++) {
      if (batch.isFull || batch.outcomes.length >= outcomesPerBatchMax) break
      const pending = this.#queue[this.#queueHead]!
      this.#queue[this.#queueHead++] = undefined as unknown as Pending
      if (!this.#hasBegun) {
        batch.begin(this.#nextPlace())
        this.#hasBegun = true
      }
      this.#runOne(batch, pending)
    }
    if (this.#queueHead === this.#queue.length) {
      this.#queue.length = 0
      this.#queueHead = 0
    } else if (this.#queueHead > 4096) {
      this.#queue = this.#queue.slice(this.#queueHead)
      this.#queueHead = 0
    }
  }

  /** Rejects the whole queue: the memtable is at its bound, and the index cannot be written for an unknown time. */
  #refuseQueued(): void {
    const queued = this.#queue.slice(this.#queueHead)
    this.#queue = []
    this.#queueHead = 0
    for (const pending of queued)
      pending.reject(storageErrors.full('The index cannot be written, so nothing was stored. Free space on the drive.'))
  }

  #nextPlace(): BatchPlace {
    const { journal } = this.#options
    const before = this.#inFlight
    if (before === undefined || before.transactionCount === 0) return journal.place(journal.tail)
    return journal.place({ segment: before.place.segment, offset: before.place.offset + alignUp(before.length) })
  }

  #runOne(batch: Batch<Pending>, pending: Pending): void {
    const tx = this.#transaction
    const nowMs = this.#options.clock.now()
    this.sequence = Math.max(this.sequence + 1, nowMs * sequencesPerMs)
    tx.begin(batch, this.sequence, nowMs)
    const bodiesBefore = batch.bodies.length
    pending.failed = false
    try {
      pending.outcome = pending.run(tx)
      pending.needsRoom = tx.needsRoom
      if (pending.needsRoom && this.#options.isFull()) throw storageErrors.full()
      tx.finish()
      pending.body = batch.bodies[bodiesBefore]
      if (pending.origin !== 'own') batch.bodies.length = bodiesBefore
    } catch (error) {
      tx.rollBack()
      pending.failed = true
      pending.outcome = error
      pending.needsRoom = false
    }
    batch.outcomes.push(pending)
  }

  /** Writes the filled batch. The next batch is filled while this write is in flight. */
  #flush(): void {
    const batch = this.#filling
    if (batch.outcomes.length === 0) return
    this.#hasBegun = false
    this.#filling = this.#spare
    if (batch.transactionCount === 0) {
      // No change in this batch and no write pending: settle without a write.
      this.#settle(batch)
      return
    }
    const { state, journal } = this.#options
    this.#inFlight = batch
    state.inFlight = state.filling
    state.filling = new ChangeSet()
    journal.append(batch).then(
      () => this.#onDurable(batch),
      error => this.#onFailed(batch, error),
    )
  }

  #onDurable(batch: Batch<Pending>): void {
    // The drive became faulty meanwhile, and `fail` rejected everything.
    if (this.fault !== undefined) return
    const { state, journal, checkpoints, onBody, onUnreferenced, observer } = this.#options
    const changes = state.inFlight!
    state.inFlight = undefined
    this.#inFlight = undefined
    let unreferenced: readonly string[]
    try {
      unreferenced = state.absorb(changes, journal.tail, observer)
    } catch (error) {
      // The index cannot be read any more. The changes are in the journal, and the next start finds them.
      if (!isCatalogError(error)) throw error
      this.fail(error, batch.outcomes)
      return
    }
    checkpoints.onCommit()
    const settled = batch.outcomes.slice()
    const bodies = batch.bodies.slice()
    batch.clear()
    this.#spare = batch
    for (const { segment, offset, bytes } of bodies) onBody(segment, offset, bytes)
    settleAll(settled)
    if (unreferenced.length > 0) onUnreferenced(unreferenced)
    // Not at once: what else comes in this turn, and what the callers do next, goes into the same write. Until then a batch may be filled, with its
    // place, while none is in flight.
    this.#schedule()
  }

  /** Settles a batch that needed no write. */
  #settle(batch: Batch<Pending>): void {
    const settled = batch.outcomes.slice()
    batch.clear()
    this.#spare = batch
    settleAll(settled)
  }

  async #onFailed(batch: Batch<Pending>, error: unknown): Promise<void> {
    if (this.fault !== undefined) return
    const { state, journal, log, clock, makeRoom } = this.#options
    if (!isOutOfSpace(error)) {
      this.fail(error)
      return
    }
    this.#options.onFull(error)
    const again: Pending[] = []
    const rejected: Pending[] = []
    for (const pending of batch.outcomes) {
      const isLast = pending.origin === 'background' || pending.refusals++ >= spaceRetriesMax
      if (!pending.failed && (pending.needsRoom || isLast)) rejected.push(pending)
      else again.push(pending)
    }
    try {
      await journal.cutBack()
      if (again.length > 0) {
        // Released ballast gives the retry a new chance: this refusal does not count.
        if (await makeRoom()) for (const pending of again) pending.refusals--
        else await pause(clock, spaceRetryMs)
      }
    } catch (cutError) {
      this.fail(cutError)
      return
    }
    if (this.fault !== undefined) return
    log.debug({ err: error }, 'a batch found no space and has been taken back')
    // The transactions filled meanwhile saw the changes that failed, so they must run again.
    const later = this.#filling
    again.push(...later.outcomes)
    batch.clear()
    later.clear()
    this.#spare = batch
    this.#hasBegun = false
    this.#inFlight = undefined
    state.inFlight = undefined
    state.filling = new ChangeSet()
    this.#queue = [...again, ...this.#queue.slice(this.#queueHead)]
    this.#queueHead = 0
    for (const pending of rejected) pending.reject(storageErrors.full(undefined, { cause: error }))
    this.#schedule()
  }

  /**
   * Makes the drive faulty: a write or sync failed, or the index is damaged. The content of the disk is then unknown, so nothing
   * more is written before a restart has read it. A batch in flight is rejected, but the restart may still find it.
   */
  fail(error: unknown, durable: readonly Pending[] = []): void {
    if (this.fault !== undefined) return
    const { state, onFaulty } = this.#options
    this.fault = error
    onFaulty(error)
    const waiting = [
      ...durable,
      ...(this.#inFlight?.outcomes ?? []),
      ...this.#filling.outcomes,
      ...this.#queue.slice(this.#queueHead),
    ]
    this.#inFlight = undefined
    this.#filling.clear()
    this.#queue = []
    this.#queueHead = 0
    state.inFlight = undefined
    state.filling = new ChangeSet()
    for (const pending of waiting) pending.reject(faulty(error))
    this.#idle?.()
  }

  /** Refuses new work; resolves when the queued work is settled. */
  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#inFlight === undefined && this.#queue.length === this.#queueHead && this.#filling.outcomes.length === 0)
      return
    await new Promise<void>(resolve => {
      this.#idle = resolve
      this.#schedule()
    })
    this.#idle = undefined
  }
}

function settleAll(outcomes: readonly Pending[]): void {
  for (const pending of outcomes) {
    if (pending.failed) pending.reject(pending.outcome)
    else pending.resolve(pending.outcome, pending.body)
  }
}

function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise(resolve => {
    clock.after(delayMs, resolve)
  })
}

/** What callers of a failed drive get. */
export function faulty(cause: unknown) {
  return storageErrors.faulty(undefined, { cause })
}
