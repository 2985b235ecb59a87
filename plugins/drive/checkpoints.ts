/**
 * Moves durable changes into the index, a set at a time, in the order of commits. The index learns the journal position in the
 * same commit. A set is small enough to be handed to LMDB within a few milliseconds, and large enough that hot records and
 * counters are written once rather than at every commit.
 */
import type { Clock, Logger } from 'svc/kernel'
import type { JournalPosition } from './journal.ts'
import { type DriveState, type OverlayObserver, writeFrozen } from './state.ts'

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
  readonly observer: OverlayObserver | undefined
  /** Called when a checkpoint is done. */
  onDone(): void
}

export class Checkpoints {
  readonly #options: CheckpointOptions
  #running: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  #closed = false
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

  /** Resolves when everything that is durable now is in the index; what comes later is not waited for. */
  async flush(): Promise<void> {
    // The set that is on its way may be older than what the caller has seen.
    await this.#running
    await this.#run()
  }

  #run(): Promise<void> {
    this.#running ??= this.#checkpoint().finally(() => {
      this.#running = undefined
      this.#options.onDone()
      if (this.isDue && !this.#closed) void this.#run()
    })
    return this.#running
  }

  async #checkpoint(): Promise<void> {
    const { state, log, clock } = this.#options
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
        log.error({ err: error }, 'the index could not be written; trying again')
        if (this.#closed) throw error
        await new Promise<void>(resolve => {
          clock.after(retryMs, resolve)
        })
      }
    }
    state.thaw()
    this.#options.observer?.onIndexed(frozen.changes.records.keys())
    this.indexed = frozen.position
    this.count++
  }

  async close(): Promise<void> {
    this.#cancelTimer?.()
    await this.flush()
    this.#closed = true
  }
}
