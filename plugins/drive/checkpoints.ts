/**
 * Checkpoints: write durable changes to the index, one frozen change set per LMDB transaction, in commit order. Created by
 * `open-drive.ts`; the engine reports each commit, recovery and compaction call `flush`.
 *
 * - The transaction that writes a set also writes the journal position the set reaches.
 * - A set is usually small enough for LMDB to take within a few milliseconds (more gathers while the index cannot be written), and large
 *   enough that a hot record or counter is written once per checkpoint instead of once per commit.
 * - When the index cannot be written, the set stays frozen and is retried every second without limit: the journal has all the
 *   data. `flush` rejects meanwhile, and `isBehind` bounds the memtable.
 */
import type { Clock, Logger } from 'svc/kernel'
import type { JournalPosition } from './index-position.ts'
import type { DriveLock } from './lock.ts'
import { type DriveState, type MemtableObserver, writeFrozen } from './state.ts'

const entriesPerCheckpoint = 16_384
const bytesPerCheckpoint = 16 * 1024 * 1024
/** Commits wait when the durable set exceeds this many checkpoints' worth. */
const behindFactor = 4
const retryMs = 1000

export interface CheckpointOptions {
  readonly state: DriveState
  readonly clock: Clock
  readonly log: Logger
  readonly lock: DriveLock
  /** The longest time a durable change waits for its checkpoint. */
  readonly intervalMs: number
  sequence(): number
  /** Releases ballast for the index. False when none is left, or when the error is not a lack of space. */
  makeRoom(error: unknown): Promise<boolean>
  readonly observer: MemtableObserver | undefined
  /** Called after each checkpoint, failed ones included. */
  onDone(): void
}

export class Checkpoints {
  readonly #options: CheckpointOptions
  #running: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  #cancelPause: (() => void) | undefined
  #endPause: (() => void) | undefined
  #closed = false
  /** Error of the last attempt; undefined after a success. */
  failure: unknown
  /** Rejecters of the `flush` calls that wait for the current attempt. */
  #waiting = new Set<(error: unknown) => void>()
  /** The journal position that the index reaches. */
  indexed: JournalPosition
  count = 0
  failures = 0

  constructor(options: CheckpointOptions, indexed: JournalPosition) {
    this.#options = options
    this.indexed = indexed
  }

  /** Whether the durable set is large enough for a checkpoint. */
  get isDue(): boolean {
    const { durable } = this.#options.state
    return durable.records.size >= entriesPerCheckpoint || durable.bytes >= bytesPerCheckpoint
  }

  /** Whether the index has every durable change. */
  get isIndexComplete(): boolean {
    const { durable, frozen } = this.#options.state
    return durable.isEmpty && frozen === undefined
  }

  /** Whether the last attempt failed. */
  get isStuck(): boolean {
    return this.failure !== undefined
  }

  /** Whether the memtable is at its bound, so that commits must wait. */
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
   * Resolves when everything that is durable now is in the index; later changes are not waited for. Rejects when the index cannot
   * be written, immediately if the last attempt failed.
   */
  flush(): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure)
    return new Promise<void>((resolve, reject) => {
      this.#waiting.add(reject)
      const settle = () => {
        this.#waiting.delete(reject)
        resolve()
      }
      // The running checkpoint may have frozen its set before the caller's changes became durable.
      Promise.resolve(this.#running)
        .then(() => this.#run())
        .then(settle, reject)
    })
  }

  #run(): Promise<void> {
    // A caller that waited for a failed attempt may come here after the index has been closed.
    if (this.#closed) return Promise.resolve()
    this.#running ??= this.#checkpoint().finally(() => {
      this.#running = undefined
      this.#options.onDone()
      if (this.isDue) void this.#run()
    })
    return this.#running
  }

  async #checkpoint(): Promise<void> {
    const { state, log, clock, lock, makeRoom } = this.#options
    if (state.frozen === undefined) {
      if (state.durable.isEmpty) return
      try {
        state.freeze(this.#options.sequence())
      } catch (error) {
        if (state.index.loss === undefined) throw error
        return this.#end(error)
      }
    }
    const frozen = state.frozen!
    for (;;) {
      const loss = lock.loss()
      // The index may be that of another process now. Everything in the memtable is in the journal.
      if (loss !== undefined) return this.#end(loss)
      try {
        await state.index.commit(write => writeFrozen(frozen, write))
        break
      } catch (error) {
        // The journal has all the data. Only the memtable grows meanwhile, and `isBehind` bounds it.
        this.failures++
        if (state.index.loss !== undefined) return this.#end(error)
        if (await makeRoom(error)) continue
        if (this.failure === undefined)
          log.error({ err: error }, 'the index could not be written; trying again; no data is lost, the journal has it')
        this.#fail(error)
        // The engine must learn that its queue cannot proceed.
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

  /** Nothing is written to the index any more. */
  #end(error: unknown): void {
    this.#closed = true
    this.#fail(error)
  }

  #fail(error: unknown): void {
    this.failure = error
    for (const reject of this.#waiting) reject(error)
    this.#waiting.clear()
  }

  /** Stops without a last checkpoint, for a drive that failed to open. Waits for an attempt that is under way. */
  async abandon(): Promise<void> {
    this.#closed = true
    this.#cancelTimer?.()
    this.#cancelPause?.()
    this.#endPause?.()
    await this.#running
  }

  /** Writes a last checkpoint. If it fails, the next start replays the rest from the journal. */
  async close(): Promise<void> {
    this.#cancelTimer?.()
    try {
      await this.flush()
    } catch (error) {
      this.#options.log.warn(
        { err: error },
        'the last changes could not be written to the index; the next start replays them from the journal',
      )
    }
    this.#closed = true
    this.#cancelPause?.()
    this.#endPause?.()
    await this.#running
  }
}
