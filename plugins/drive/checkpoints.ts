/**
 * Moves durable changes into the index, a set at a time, in the order of commits. The index learns the journal position in the
 * same commit. A set is small enough to be handed to LMDB within a few milliseconds, and large enough that hot records and
 * counters are written once rather than at every commit.
 *
 * When the index cannot be written, the set stays frozen and is tried again every second, for as long as it takes: the journal has
 * everything. Whoever waits for the index is told, and goes on without.
 */
import type { Clock, Logger } from 'svc/kernel'
import type { JournalPosition } from './index-position.ts'
import { type DriveState, type MemtableObserver, writeFrozen } from './state.ts'

const entriesPerCheckpoint = 16_384
const bytesPerCheckpoint = 16 * 1024 * 1024
/** Durable sets may grow to this many checkpoints' worth before commits have to wait. */
const behindFactor = 4
const retryMs = 1000

export interface CheckpointOptions {
  readonly state: DriveState
  readonly clock: Clock
  readonly log: Logger
  /** How long a change may wait for the index, in milliseconds. */
  readonly intervalMs: number
  sequence(): number
  /** Gives back space that was kept for the index. False when there is none, or the error has another reason. */
  makeRoom(error: unknown): Promise<boolean>
  readonly observer: MemtableObserver | undefined
  /** Called when a checkpoint is done. */
  onDone(): void
}

export class Checkpoints {
  readonly #options: CheckpointOptions
  #running: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  #cancelPause: (() => void) | undefined
  #endPause: (() => void) | undefined
  #closed = false
  /** Why the last attempt failed. */
  failure: unknown
  /** Told of each attempt that fails. */
  #waiting = new Set<(error: unknown) => void>()
  /** The position that the index reaches, and whether that survives a power loss. */
  indexed: JournalPosition
  count = 0
  failures = 0

  constructor(options: CheckpointOptions, indexed: JournalPosition) {
    this.#options = options
    this.indexed = indexed
  }

  /** There is enough for a checkpoint. */
  get isDue(): boolean {
    const { durable } = this.#options.state
    return durable.records.size >= entriesPerCheckpoint || durable.bytes >= bytesPerCheckpoint
  }

  /** The index has everything that is durable. */
  get isIndexComplete(): boolean {
    const { durable, frozen } = this.#options.state
    return durable.isEmpty && frozen === undefined
  }

  /** The index cannot be written at the moment. */
  get isStuck(): boolean {
    return this.failure !== undefined
  }

  /** Commits have to wait: the index cannot keep up. */
  get isBehind(): boolean {
    const { durable } = this.#options.state
    return (
      durable.records.size > entriesPerCheckpoint * behindFactor || durable.bytes > bytesPerCheckpoint * behindFactor
    )
  }

  onCommit(): void {
    const { clock, intervalMs } = this.#options
    if (this.#closed) return
    if (this.isDue) {
      void this.#run()
    } else if (this.#cancelTimer === undefined) {
      this.#cancelTimer = clock.after(intervalMs, () => {
        this.#cancelTimer = undefined
        void this.#run()
      })
    }
  }

  /**
   * Resolves when everything that is durable now is in the index; what comes later is not waited for. Rejects when the index
   * cannot be written, at once where that is known.
   */
  flush(): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure)
    return new Promise<void>((resolve, reject) => {
      this.#waiting.add(reject)
      const settle = () => {
        this.#waiting.delete(reject)
        resolve()
      }
      // The set that is on its way may be older than what the caller has seen.
      Promise.resolve(this.#running)
        .then(() => this.#run())
        .then(settle, reject)
    })
  }

  #run(): Promise<void> {
    // Whoever waited for an attempt that failed may come here after the index has been closed.
    if (this.#closed) return Promise.resolve()
    this.#running ??= this.#checkpoint().finally(() => {
      this.#running = undefined
      this.#options.onDone()
      if (this.isDue) void this.#run()
    })
    return this.#running
  }

  async #checkpoint(): Promise<void> {
    const { state, log, clock, makeRoom } = this.#options
    if (state.frozen === undefined) {
      if (state.durable.isEmpty) return
      state.freeze(this.#options.sequence())
    }
    const frozen = state.frozen!
    for (;;) {
      try {
        await state.index.commit(write => writeFrozen(frozen, write))
        break
      } catch (error) {
        // The journal has everything; only readers' memory grows meanwhile, and `isBehind` bounds that.
        this.failures++
        if (await makeRoom(error)) continue
        if (this.failure === undefined) log.error({ err: error }, 'the index could not be written; trying again')
        this.failure = error
        for (const reject of this.#waiting) reject(error)
        this.#waiting.clear()
        // Those who wait for commits have to be told, too.
        this.#options.onDone()
        if (this.#closed) return
        await new Promise<void>(resolve => {
          this.#cancelPause = clock.after(retryMs, resolve)
          this.#endPause = resolve
        })
        if (this.#closed) return
      }
    }
    if (this.failure !== undefined) log.info('the index can be written again')
    this.failure = undefined
    state.thaw()
    this.#options.observer?.onIndexed(frozen.changes.records.keys())
    this.indexed = frozen.position
    this.count++
  }

  /** Stops at once, of a drive that did not open; an attempt that is under way is waited for. */
  async abandon(): Promise<void> {
    this.#closed = true
    this.#cancelTimer?.()
    this.#cancelPause?.()
    this.#endPause?.()
    await this.#running
  }

  /** Writes what there is to write, once; where that fails the next start reads it from the journal. */
  async close(): Promise<void> {
    this.#cancelTimer?.()
    try {
      await this.flush()
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the index is behind; the next start reads the rest from the journal')
    }
    this.#closed = true
    this.#cancelPause?.()
    this.#endPause?.()
    await this.#running
  }
}
