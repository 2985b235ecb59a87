/**
 * The engine of one drive. A change goes through these states; whatever is derived from records (counters, entries, blob
 * references, the use of segments) goes with them.
 *
 * | State of a transaction | In memory | On disk | Seen by | Next |
 * |---|---|---|---|---|
 * | queued | procedure, arguments | nothing | nobody | run: filled, or settled at once when it threw and nothing waits |
 * | filled | `filling`, batch buffer | nothing | later procedures | its batch is sealed: in flight; batch before fails: queued or rejected |
 * | in flight | `inFlight` | unknown | later procedures | written and synced: durable; ENOSPC: rejected or queued again; else: rejected, drive faulty |
 * | durable | `durable` | journal | everybody; acknowledged | checkpoint begins: frozen |
 * | frozen | `frozen` | journal | everybody | index commit: indexed; index commit fails: tried again |
 * | indexed | nothing | journal, index | everybody | index flushed: its segment may be compacted away |
 *
 * Invariants, cited by the tests:
 *
 * 1. An acknowledged write survives `kill -9` and power loss: `execute` resolves after the journal write is synced, not before.
 * 2. A write that was not acknowledged is wholly visible or not at all: a batch counts only when all its checksums match.
 * 3. The index is the replay of the journal at every checkpoint: both go through `DriveState.apply`, and the index names the
 *    position that it reaches in the commit that reaches it.
 * 4. No acknowledged byte is returned wrong: every record, body and blob block is verified when it is read, and a damaged
 *    journal stops the start instead of ending the replay early.
 * 5. Preconditions are evaluated under the lock that commits: procedures run one at a time and see all earlier ones.
 * 6. Sums equal what follows from the records, always: they change in the same call that changes the record.
 * 7. A full disk refuses new writes and harms nothing stored: a failed batch is taken back whole; deletes go on, also when others
 *    have taken the last byte: the ballast is given back for them, and each is tried several times.
 */
import type { Clock, Logger } from 'svc/kernel'
import type { Procedure } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { alignUp } from './aligned-memory.ts'
import { Batch } from './batch.ts'
import { ChangeSet } from './changes.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { BatchPlace, Journal } from './journal.ts'
import { isOutOfSpace } from './space.ts'
import type { DriveState, OverlayObserver } from './state.ts'
import { DriveTransaction } from './transaction.ts'

/** Sequences are milliseconds times this, plus a counter. */
const sequencesPerMs = 2048
/** Procedures that may run before the event loop gets its turn. */
const proceduresPerTurnMax = 256
/** Outcomes that one batch may hold. */
const outcomesPerBatchMax = 4096
/** How often a delete that finds no space is tried again, and the pause before, in milliseconds, where nothing could be given back. */
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
  /** Whether new data must be refused. */
  isFull(): boolean
  /** Told when a write met the end of the space. */
  onFull(error: unknown): void
  /** Gives back space that was kept for deletes. False when there is none. */
  makeRoom(): Promise<boolean>
  /** A body that has just become durable. */
  onBody(segment: number, offset: number, bytes: Uint8Array): void
  /** Blobs that no durable record references any more. */
  onUnreferenced(ids: readonly string[]): void
  onFaulty(error: unknown): void
  readonly observer: OverlayObserver | undefined
}

/** Where the body that came with a transaction has been written. */
export interface BodyPlace {
  readonly segment: number
  readonly offset: number
}

/** Work for the commit lock: a declared procedure, or one of the engine's own (compaction). */
interface Pending {
  readonly run: (tx: DriveTransaction) => unknown
  readonly resolve: (result: unknown, body: BodyPlace | undefined) => void
  readonly reject: (error: unknown) => void
  /** `own`: the body's bytes may be kept in this thread's cache. `background`: gives up at once where there is no space. */
  readonly origin: 'own' | 'worker' | 'background'
  body: BodyPlace | undefined
  outcome: unknown
  failed: boolean
  /** Whether it stores more than it removes. */
  needsRoom: boolean
  /** How often it has met the end of the space. */
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
  /** Outcomes of a batch that is durable, while the next one goes out before they are told. */
  #settling: Pending[] | undefined
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

  /** Runs a synchronous function under the commit lock; resolves with its result when its changes are durable. */
  run<T>(change: (tx: DriveTransaction) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#add(change, resolve as (result: unknown) => void, reject, 'own')
    })
  }

  /** The same for housekeeping, which is not worth the space that is kept for deletes: rejects with `full` where there is no other. */
  runInBackground(change: (tx: DriveTransaction) => void): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#add(change, resolve as (result: unknown) => void, reject, 'background')
    })
  }

  /** The same for another thread, whose body lies in memory that it will use again. */
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
    return this.#inFlight === undefined && this.#queue.length === this.#queueHead
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

  /** Goes on after a checkpoint that the queue had to wait for. */
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

  /** Nothing can be taken in before the index can be written again, and nobody knows when that will be. */
  #refuseQueued(): void {
    const queued = this.#queue.slice(this.#queueHead)
    this.#queue = []
    this.#queueHead = 0
    for (const pending of queued) pending.reject(storageErrors.full('The index cannot be written.'))
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

  /** Sends off what has been filled. The next batch is filled while this one is on its way. */
  #flush(): void {
    const batch = this.#filling
    if (batch.outcomes.length === 0) return
    this.#hasBegun = false
    this.#filling = this.#spare
    if (batch.transactionCount === 0) {
      // Nothing was changed and nothing before it is on its way, so there is nothing to wait for.
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
    // The drive has been given up meanwhile, and everything was rejected.
    if (this.fault !== undefined) return
    const { state, journal, checkpoints, onBody, onUnreferenced, observer } = this.#options
    const changes = state.inFlight!
    state.inFlight = undefined
    this.#inFlight = undefined
    const unreferenced = state.absorb(changes, journal.tail, observer)
    checkpoints.onCommit()
    // The next write goes out before the answers of this one: the drive should not wait for us.
    const { outcomes } = batch
    const settled = outcomes.slice()
    const bodies = batch.bodies.slice()
    batch.clear()
    this.#spare = batch
    this.#settling = settled
    this.#pump()
    this.#settling = undefined
    for (const { segment, offset, bytes } of bodies) onBody(segment, offset, bytes)
    settleAll(settled)
    if (unreferenced.length > 0) onUnreferenced(unreferenced)
  }

  /** Settles a batch that needed no write. */
  #settle(batch: Batch<Pending>): void {
    const settled = batch.outcomes.slice()
    batch.clear()
    this.#spare = batch
    // Answers come in the order of the changes: these have seen those that are about to be answered.
    if (this.#settling === undefined) settleAll(settled)
    else this.#settling.push(...settled)
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
        // Room that was made for these is not what they have waited for in vain.
        if (await makeRoom()) for (const pending of again) pending.refusals--
        else await pause(clock, spaceRetryMs)
      }
    } catch (cutError) {
      this.fail(cutError)
      return
    }
    if (this.fault !== undefined) return
    log.debug({ err: error }, 'a batch found no space and has been taken back')
    // What was filled meanwhile has seen the changes that failed: it has to run again.
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
   * A write or sync failed, or the index turned out to be damaged: nobody can say what is on the disk, so nothing more is written
   * until a restart has read it. A batch that is on its way counts as failed; it may be found at the restart all the same.
   */
  fail(error: unknown): void {
    const { state, onFaulty } = this.#options
    this.fault = error
    onFaulty(error)
    const waiting = [
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

  /** Takes no more work and resolves when what was queued is settled. */
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

function faulty(cause: unknown) {
  return storageErrors.faulty(undefined, { cause })
}
