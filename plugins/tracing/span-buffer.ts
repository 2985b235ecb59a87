/**
 * Spans that wait for the collector, already encoded, so that their size is known and their requests can be freed. A batch is
 * the content of one request to the collector; new spans go to the last one, which is open.
 */
import { PbfWriter } from 'pbf'
import { writeSpan } from './otlp.ts'
import type { Span } from './span.ts'

export const batchSpansMax = 512
/** Maximum size of a batch without its last span. */
export const batchBytesMax = 256 * 1024
/** Maximum number of waiting batches, including the open one and the one in transit: 2 MiB per thread. */
export const batchesMax = 8

export interface Batch {
  readonly spans: Uint8Array
  readonly spanCount: number
}

export class SpanBuffer {
  readonly #closed: Batch[] = []
  #open = new PbfWriter()
  #openCount = 0

  /** False: no room, the span is lost. */
  get hasRoom(): boolean {
    return this.#closed.length < batchesMax - 1
  }

  /** Only where there is room. True when a batch became complete with it. */
  add(span: Span): boolean {
    writeSpan(this.#open, span)
    this.#openCount++
    if (this.#openCount < batchSpansMax && this.#open.pos < batchBytesMax) return false
    this.close()
    return true
  }

  /** Closes the open batch. */
  close(): void {
    if (this.#openCount === 0) return
    // A copy: the writer goes on with its memory.
    this.#closed.push({ spans: this.#open.buf.slice(0, this.#open.pos), spanCount: this.#openCount })
    this.#open.pos = 0
    this.#openCount = 0
  }

  /** The oldest complete batch; it stays until it is removed. */
  get first(): Batch | undefined {
    return this.#closed[0]
  }

  removeFirst(): void {
    this.#closed.shift()
  }

  /** Spans that wait, in all batches. */
  get spanCount(): number {
    return this.#closed.reduce((sum, { spanCount }) => sum + spanCount, this.#openCount)
  }
}
