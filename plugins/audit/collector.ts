/**
 * Moves records from the thread that made them to the main thread, where the targets are: a few hundred per message, each within 50 ms.
 * Bounded: when the main thread does not keep up, the newest records are dropped and counted.
 */
import type { Clock, Threads } from 'svc/kernel'
import type { AuditOutlet } from './service.ts'

export interface RecordBatch {
  /** Request ids and lines of the log, one of each for a record. */
  readonly requestIds: readonly string[]
  readonly lines: readonly string[]
}

export const recordsMessage = 'audit.records'

const main = 0
/** How long a record waits for others. */
export const collectMs = 50
const batchRecords = 256
/** Batches on their way to the main thread. */
const batchesUnderWayMax = 4
/** Records that wait behind them. */
const waitingRecordsMax = 2000

export interface Collector extends AuditOutlet {
  isOpen: boolean
  /** Resolves when the main thread has all records. */
  flush(): Promise<void>
}

export interface CollectorOptions {
  readonly threads: Threads
  readonly clock: Clock
  onLost(count: number): void
}

export function createCollector({ threads, clock, onLost }: CollectorOptions): Collector {
  let requestIds: string[] = []
  let lines: string[] = []
  let isScheduled = false
  const underWay = new Set<Promise<void>>()

  function send(): void {
    if (lines.length === 0) return
    const batch: RecordBatch = { requestIds, lines }
    requestIds = []
    lines = []
    const taken = threads.call<void>(main, recordsMessage, batch).then(
      () => undefined,
      // The main thread is ending, and so is this one.
      () => onLost(batch.lines.length),
    )
    underWay.add(taken)
    void taken.then(() => {
      underWay.delete(taken)
      if (lines.length >= batchRecords) send()
    })
  }

  function sendInTurn(): void {
    isScheduled = false
    if (underWay.size < batchesUnderWayMax) send()
    else schedule()
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    clock.after(collectMs, sendInTurn)
  }

  return {
    isOpen: false,
    add(line, requestId) {
      if (lines.length >= waitingRecordsMax) return onLost(1)
      requestIds.push(requestId)
      lines.push(line)
      if (lines.length >= batchRecords && underWay.size < batchesUnderWayMax) send()
      else schedule()
    },
    async flush() {
      while (lines.length > 0 || underWay.size > 0) {
        send()
        await Promise.all(underWay)
      }
    },
  }
}
