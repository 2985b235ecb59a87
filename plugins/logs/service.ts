/**
 * The main thread collects the lines of all threads. It keeps the last ones and sends each subscription the lines that it selects, in batches to
 * those of other threads; lines beyond that rate are counted and dropped. Without subscriptions, a line is only put into a list.
 */
import { hostname } from 'node:os'
import type { Clock, KernelService, Random, Threads } from 'svc/kernel'
import type { LogFilter, LogLine, LogsService } from './api.ts'
import { matches, parseLine } from './line.ts'
import { LastLines, ringLinesMax } from './ring.ts'

const batchLinesMax = 2000
const batchEveryMs = 100

interface Watch {
  readonly thread: number
  readonly id: number
  readonly filter: LogFilter
  lines: LogLine[]
  dropped: number
}

interface WatchMessage {
  readonly id: number
  readonly filter: LogFilter
  readonly last: number
}

interface LinesMessage {
  readonly id: number
  readonly lines: readonly LogLine[]
  readonly dropped: number
}

interface Subscription {
  readonly listener: (line: LogLine) => void
  dropped: number
}

export interface LogsOptions {
  readonly kernel: Pick<KernelService, 'watchLog'>
  readonly threads: Threads
  readonly clock: Clock
  readonly random: Random
}

export interface RunningLogs extends LogsService {
  stop(): void
}

export function createLogs({ kernel, threads, clock, random }: LogsOptions): RunningLogs {
  const subscriptions = new Map<number, Subscription>()
  // Not from 1: a thread that replaces a dead one must not receive lines for its predecessor's subscriptions.
  let nextId = random.bytes(4).readUInt32BE()
  const main = threads.isMain ? createMain({ kernel, threads, clock }, deliver) : undefined

  function deliver({ id, lines, dropped }: LinesMessage, from: number): void {
    const subscription = subscriptions.get(id)
    if (subscription === undefined) {
      threads.post(from, 'logs.unwatch', id)
      return
    }
    subscription.dropped += dropped
    for (const line of lines) subscription.listener(line)
  }
  threads.handle('logs.lines', deliver)

  return {
    subscribe(filter, last, listener) {
      const id = nextId++
      const subscription: Subscription = { listener, dropped: 0 }
      subscriptions.set(id, subscription)
      const message: WatchMessage = { id, filter, last }
      if (main === undefined) threads.post(0, 'logs.watch', message)
      else main.watch(message, 0)
      return {
        get dropped() {
          return subscription.dropped
        },
        end() {
          if (!subscriptions.delete(id)) return
          if (main === undefined) threads.post(0, 'logs.unwatch', id)
          else main.unwatch(id, 0)
        },
      }
    },
    stop() {
      subscriptions.clear()
      main?.stop()
    },
  }
}

function createMain(
  { kernel, threads, clock }: Omit<LogsOptions, 'random'>,
  deliver: (message: LinesMessage, from: number) => void,
) {
  const node = hostname()
  const last = new LastLines()
  const watches = new Map<string, Watch>()
  let cancelFlush: (() => void) | undefined

  const unwatchLog = kernel.watchLog(text => {
    last.push(text)
    if (watches.size > 0) publish(text)
  })
  threads.handle('logs.watch', watch)
  threads.handle('logs.unwatch', unwatch)
  threads.onExit(thread => {
    for (const [key, known] of watches) if (known.thread === thread) watches.delete(key)
  })

  function watch({ id, filter, last: count }: WatchMessage, thread: number): void {
    const lines: LogLine[] = []
    const texts = last.texts()
    for (let i = texts.length - 1; i >= 0 && lines.length < Math.min(count, ringLinesMax); i--) {
      const line = parseLine(texts[i]!, node)
      if (line !== undefined && matches(line, filter)) lines.push(line)
    }
    watches.set(`${thread} ${id}`, { thread, id, filter, lines: lines.reverse(), dropped: 0 })
    flushSoon()
  }

  function unwatch(id: number, thread: number): void {
    watches.delete(`${thread} ${id}`)
  }

  function publish(text: string): void {
    const line = parseLine(text, node)
    if (line === undefined) return
    for (const known of watches.values()) {
      if (!matches(line, known.filter)) continue
      if (known.lines.length >= batchLinesMax) known.dropped++
      else known.lines.push(line)
    }
    flushSoon()
  }

  function flushSoon(): void {
    cancelFlush ??= clock.after(batchEveryMs, flush)
  }

  function flush(): void {
    cancelFlush = undefined
    for (const known of watches.values()) {
      const { thread, id, lines, dropped } = known
      if (lines.length === 0 && dropped === 0) continue
      known.lines = []
      known.dropped = 0
      const message: LinesMessage = { id, lines, dropped }
      if (thread === 0) deliver(message, 0)
      else threads.post(thread, 'logs.lines', message)
    }
  }

  return {
    watch,
    unwatch,
    stop() {
      unwatchLog()
      cancelFlush?.()
      watches.clear()
    },
  }
}
