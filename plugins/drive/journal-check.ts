/**
 * The background check of the journal: reads and verifies every sealed segment once per `journalCheckIntervalMs`, evenly spread
 * over that time. Reads are answered by the index, so damage in most of the journal would otherwise stay unnoticed until the
 * index has to be rebuilt. `Compaction` gets the damaged segments and rescues their records.
 *
 * After a restart it continues at a random segment, so that a server that restarts often still covers all segments over time.
 */
import type { Clock, Random } from 'svc/kernel'
import type { Compaction } from './compaction.ts'
import type { Disk } from './disk.ts'
import type { Journal } from './journal.ts'
import { hasIntactBodies } from './journal-format.ts'
import { readSegment, SegmentDamage } from './journal-reader.ts'

export interface JournalCheckOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly random: Random
  readonly journal: Journal
  readonly journalKey: Buffer
  readonly compaction: Compaction
  /** 0 turns the check off. */
  readonly intervalMs: number
  /** Read rate while a segment is checked. */
  readonly bytesPerSecond: number
}

export class JournalCheck {
  readonly #options: JournalCheckOptions
  /** The segment checked last; at first a random one. */
  #last: number | undefined
  #lastMs = Number.NEGATIVE_INFINITY
  segmentsChecked = 0

  constructor(options: JournalCheckOptions) {
    this.#options = options
  }

  /** Checks one segment if it is due. */
  async work(signal: AbortSignal): Promise<void> {
    const { intervalMs } = this.#options
    if (intervalMs === 0) return
    const segments = this.#sealed()
    const segment = this.#next(segments)
    // Uses the current number of segments: a drive that was just filled must not wait as long as an empty one.
    if (segment === undefined || this.#nowMs() - this.#lastMs < intervalMs / segments.length) return
    this.#last = segment
    this.#lastMs = this.#nowMs()
    await this.#check(segment, signal)
  }

  #nowMs(): number {
    return Number(this.#options.clock.monotonicNs() / 1_000_000n)
  }

  /** Finished segments in order; the last one is still being written. */
  #sealed(): number[] {
    const { journal } = this.#options
    return [...journal.segments.keys()].filter(segment => segment < journal.tail.segment).sort((a, b) => a - b)
  }

  #next(segments: readonly number[]): number | undefined {
    const last = this.#last
    if (last === undefined) return segments[Math.floor(this.#options.random.float() * segments.length)]
    return segments.find(segment => segment > last) ?? segments[0]
  }

  async #check(segment: number, signal: AbortSignal): Promise<void> {
    const { clock, compaction, bytesPerSecond } = this.#options
    this.segmentsChecked++
    if (compaction.isDamaged(segment)) return compaction.rescueAgain(segment)
    try {
      for await (const { offset, header, bytes } of readSegment(this.#options, segment)) {
        if (signal.aborted) return
        if (!hasIntactBodies(bytes, header, segment, offset)) {
          throw new SegmentDamage(offset, 'a body does not match its checksum')
        }
        const pauseMs = (bytes.length * 1000) / bytesPerSecond
        if (pauseMs >= 1) await new Promise<void>(resolve => void clock.after(pauseMs, resolve))
      }
    } catch (error) {
      if (!(error instanceof SegmentDamage)) throw error
      compaction.onDamaged(segment, error)
    }
  }
}
