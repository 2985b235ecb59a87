/**
 * Brings spans to the collector: a batch when it is complete or `batchEveryMs` old, one at a time. While the collector does not take
 * them, the oldest batch is tried again with growing pauses; when the buffer is full, further spans are counted and nothing else.
 */
import type { Clock, Logger, Random } from 'svc/kernel'
import { exportRequest, type Resource } from './otlp.ts'
import type { Sender, SendResult } from './sender.ts'
import type { Span } from './span.ts'
import { type Batch, SpanBuffer } from './span-buffer.ts'

export const batchEveryMs = 5000
const pauseMsMin = 1000
export const pauseMsMax = 30_000
/** The time to send the remaining spans when the server stops. */
const lastSendMs = 2000

/** `exported`: the collector has it. `rejected`: it does not want it. `dropped`: there was no room, or no time at a stop. */
export type SpanResult = 'exported' | 'rejected' | 'dropped'

export interface ExporterOptions {
  readonly sender: Sender
  readonly resource: Resource
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  count(result: SpanResult, spans: number): void
}

export interface Exporter {
  /** Whether there is room for a new span. Counts a dropped one. */
  hasRoom(): boolean
  add(span: Span): void
  /** Sends the remaining spans, for two seconds at most. Idempotent. */
  stop(): Promise<void>
}

export function createExporter({ sender, resource, clock, random, log, count }: ExporterOptions): Exporter {
  const buffer = new SpanBuffer()
  let cancelTimer: (() => void) | undefined
  let sending: Promise<void> | undefined
  let pauseMs = 0
  let endPause: (() => void) | undefined
  let isStopping = false

  const pause = (delayMs: number) =>
    new Promise<void>(resolve => {
      const cancel = clock.after(delayMs, resolve)
      endPause = () => {
        cancel()
        resolve()
      }
    })

  function note(result: SendResult, { spanCount }: Batch): void {
    if (result.kind === 'unavailable') {
      if (pauseMs === 0) {
        log.warn(
          { reason: result.reason },
          'the collector of traces cannot be reached; spans wait, and are dropped soon',
        )
      }
      pauseMs = Math.min(pauseMsMax, Math.max(pauseMsMin, pauseMs * 2, result.afterMs ?? 0))
      return
    }
    if (pauseMs > 0) log.info('the collector of traces can be reached again')
    pauseMs = 0
    if (result.kind === 'refused') {
      log.warn({ reason: result.reason, spans: spanCount }, 'the collector of traces refuses spans')
      count('rejected', spanCount)
      return
    }
    const rejected = Math.min(result.rejectedSpans, spanCount)
    if (rejected > 0) {
      log.warn({ reason: result.message, spans: rejected }, 'the collector of traces rejects some spans')
      count('rejected', rejected)
    }
    if (spanCount > rejected) count('exported', spanCount - rejected)
  }

  async function sendAll(): Promise<void> {
    for (let batch = buffer.first; batch !== undefined; batch = buffer.first) {
      const result = await sender.send(exportRequest(resource, batch.spans))
      note(result, batch)
      if (result.kind !== 'unavailable') buffer.removeFirst()
      else if (isStopping) return
      // Not all servers at once when it is back.
      else await pause(pauseMs * (0.5 + random.float() / 2))
    }
  }

  function start(): void {
    sending ??= sendAll().finally(() => {
      sending = undefined
    })
  }

  function flush(): void {
    cancelTimer?.()
    cancelTimer = undefined
    buffer.close()
    start()
  }

  return {
    hasRoom() {
      if (buffer.hasRoom && !isStopping) return true
      count('dropped', 1)
      return false
    },
    add(span) {
      if (buffer.add(span)) flush()
      else cancelTimer ??= clock.after(batchEveryMs, flush)
    },
    async stop() {
      if (isStopping) return
      isStopping = true
      endPause?.()
      flush()
      let cancel = () => {}
      const late = new Promise<void>(resolve => {
        cancel = clock.after(lastSendMs, resolve)
      })
      await Promise.race([sending, late])
      cancel()
      const { spanCount: lost } = buffer
      if (lost > 0) {
        count('dropped', lost)
        log.warn({ spans: lost }, 'the collector of traces did not take the last spans; these spans are lost')
      }
      await sender.close()
    },
  }
}
