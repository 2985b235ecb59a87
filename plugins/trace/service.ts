/**
 * Subscriptions of this thread, and the filters of other threads' subscriptions. Lines cross threads in batches, already filtered; lines
 * beyond the size of a batch are counted and dropped, so that a subscription never slows a request.
 */
import { hostname } from 'node:os'
import type { Clock, Random, Threads } from 'svc/kernel'
import type { TraceFilter, TraceLine, TraceService } from './api.ts'
import { lineOf, matches, type RequestRecord } from './line.ts'

const batchLinesMax = 500
const batchEveryMs = 100

interface Subscription {
  readonly filter: TraceFilter
  readonly listener: (line: TraceLine) => void
  dropped: number
}

/** A subscription that lives in another thread. */
interface RemoteWatch {
  readonly thread: number
  readonly id: number
  readonly filter: TraceFilter
  lines: TraceLine[]
  dropped: number
}

interface WatchMessage {
  readonly id: number
  readonly filter: TraceFilter
}

interface LinesMessage {
  readonly id: number
  readonly lines: readonly TraceLine[]
  readonly dropped: number
}

export interface RunningTraceService extends TraceService {
  /** Takes the record of a finished request. */
  observe(record: RequestRecord): void
  /** Requests the subscriptions of the other threads, so that a thread that replaces a dead one serves them. */
  start(): Promise<void>
  stop(): void
}

export function createTraceService(threads: Threads, clock: Clock, random: Random): RunningTraceService {
  const node = hostname()
  const subscriptions = new Map<number, Subscription>()
  const remote = new Map<string, RemoteWatch>()
  // Not from 1: a thread that replaces a dead one must not receive lines for its predecessor's subscriptions.
  let nextId = random.bytes(4).readUInt32BE()
  let cancelFlush: (() => void) | undefined

  threads.handle('trace.watch', ({ id, filter }: WatchMessage, from) => {
    remote.set(`${from} ${id}`, { thread: from, id, filter, lines: [], dropped: 0 })
  })
  threads.handle('trace.unwatch', (id: number, from) => {
    remote.delete(`${from} ${id}`)
  })
  threads.handle('trace.lines', ({ id, lines, dropped }: LinesMessage, from) => {
    const subscription = subscriptions.get(id)
    if (subscription === undefined) {
      // Ended meanwhile, or of a thread that is no more: the other side may forget it.
      threads.post(from, 'trace.unwatch', id)
      return
    }
    subscription.dropped += dropped
    for (const line of lines) subscription.listener(line)
  })
  threads.handle('trace.watches', (): { thread: number; watches: WatchMessage[] } => ({
    thread: threads.index,
    watches: Array.from(subscriptions, ([id, { filter }]) => ({ id, filter })),
  }))
  function tellOthers(name: string, payload: unknown): void {
    for (let index = 0; index <= threads.workerCount; index++) {
      if (index !== threads.index) threads.post(index, name, payload)
    }
  }

  function collect(watch: RemoteWatch, line: TraceLine): void {
    if (watch.lines.length >= batchLinesMax) watch.dropped++
    else watch.lines.push(line)
    cancelFlush ??= clock.after(batchEveryMs, flush)
  }

  function flush(): void {
    cancelFlush = undefined
    for (const watch of remote.values()) {
      if (watch.lines.length === 0 && watch.dropped === 0) continue
      const message: LinesMessage = { id: watch.id, lines: watch.lines, dropped: watch.dropped }
      watch.lines = []
      watch.dropped = 0
      threads.post(watch.thread, 'trace.lines', message)
    }
  }

  function publish(record: RequestRecord): void {
    let line: TraceLine | undefined
    for (const { filter, listener } of subscriptions.values()) {
      if (!matches(record, filter)) continue
      line ??= lineOf(record, node)
      listener(line)
    }
    for (const watch of remote.values()) {
      if (!matches(record, watch.filter)) continue
      line ??= lineOf(record, node)
      collect(watch, line)
    }
  }

  return {
    observe(record) {
      if (subscriptions.size > 0 || remote.size > 0) publish(record)
    },

    subscribe(filter, listener) {
      const id = nextId++
      const subscription = { filter, listener, dropped: 0 }
      subscriptions.set(id, subscription)
      tellOthers('trace.watch', { id, filter } satisfies WatchMessage)
      return {
        get dropped() {
          return subscription.dropped
        },
        end() {
          if (subscriptions.delete(id)) tellOthers('trace.unwatch', id)
        },
      }
    },

    async start() {
      const others = await threads.callOthers<{ thread: number; watches: WatchMessage[] }>('trace.watches')
      for (const { thread, watches } of others) {
        for (const { id, filter } of watches) {
          remote.set(`${thread} ${id}`, { thread, id, filter, lines: [], dropped: 0 })
        }
      }
    },

    stop() {
      cancelFlush?.()
      subscriptions.clear()
      remote.clear()
    },
  }
}
