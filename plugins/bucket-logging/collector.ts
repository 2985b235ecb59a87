/**
 * From a finished request to the queue of its target: lines wait in memory for a moment, then go into the queue in one commit. They never
 * delay a request: lines that come faster than they can be queued are dropped and counted.
 */
import type { Clock, Logger, MaybePromise } from 'svc/kernel'
import type { QueueTopic } from 'svc/plugins/queue/api'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import { logLine } from './log-line.ts'
import type { LoggingStatus } from './logging-status.ts'

/** The payload of an entry: lines of one bucket, and where they go. Stored: fields are only ever added. */
export interface QueuedLines {
  readonly source: string
  readonly status: LoggingStatus
  /** Of the first line. With `event-time`, all lines are of its day. */
  readonly eventMs: number
  /** Each ends with a newline. */
  readonly lines: string
}

/** The name of a queue: metrics show it up to the colon. */
export const queuePrefix = 'bucket:'

const pauseMs = 200
/** In memory, in each thread. */
const waitingCharactersMax = 8 * 1024 * 1024
/** Requests whose bucket's configuration is being read. */
const readingMax = 10_000
/** An entry is cut here; one line more may still be in it. */
const entryCharacters = 64 * 1024
/** Entries that may wait for a target. */
const queuedMax = 10_000
const pushedMax = 200
const dayMs = 86_400_000

export interface CollectorOptions {
  statusOf(bucket: string): MaybePromise<LoggingStatus | undefined>
  readonly topic: Pick<QueueTopic, 'push'>
  readonly ownerId: string
  readonly clock: Clock
  readonly log: Logger
  onLost(target: string, count: number): void
}

export interface Collector {
  observe(record: S3RequestRecord): void
  /** Queues the lines in memory. Takes no more. */
  stop(): Promise<void>
}

interface Waiting {
  readonly source: string
  readonly status: LoggingStatus
  readonly eventMs: number
  lines: string
  count: number
}

export function createCollector({ statusOf, topic, ownerId, clock, log, onLost }: CollectorOptions): Collector {
  /** The entry that is still open, by source, configuration and day. */
  let open = new Map<string, Waiting>()
  let full: Waiting[] = []
  let waitingCharacters = 0
  let readingCount = 0
  let cancel: (() => void) | undefined
  let running: Promise<void> | undefined
  let isStopped = false

  const add = (record: S3RequestRecord, status: LoggingStatus) => {
    if (isStopped) return
    const { bucket: source, timeMs: eventMs } = record
    if (waitingCharacters >= waitingCharactersMax) return onLost(status.targetBucket, 1)
    const line = `${logLine(record, ownerId)}\n`
    waitingCharacters += line.length
    const day = status.keyFormat === 'event-time' ? Math.floor(eventMs / dayMs) : 0
    const id = JSON.stringify([source, status, day])
    let entry = open.get(id)
    if (entry === undefined) {
      entry = { source, status, eventMs, lines: '', count: 0 }
      open.set(id, entry)
    }
    entry.lines += line
    entry.count++
    if (entry.lines.length >= entryCharacters) {
      full.push(entry)
      open.delete(id)
    }
    schedule()
  }

  const flush = async () => {
    const byTarget = Map.groupBy([...full, ...open.values()], ({ status }) => status.targetBucket)
    full = []
    open = new Map()
    for (const [target, entries] of byTarget) {
      for (let at = 0; at < entries.length; at += pushedMax) await push(target, entries.slice(at, at + pushedMax))
    }
  }

  const push = async (target: string, entries: readonly Waiting[]) => {
    let taken = 0
    try {
      const payloads = entries.map(({ source, status, eventMs, lines }) => {
        const payload: QueuedLines = { source, status, eventMs, lines }
        return { key: '', payload: Buffer.from(JSON.stringify(payload)) }
      })
      taken = await topic.push(`${queuePrefix}${target}`, payloads, queuedMax)
    } catch (error) {
      log.warn({ err: error, target }, 'lines of access logs could not be queued and are lost')
    }
    for (const [index, { lines, count }] of entries.entries()) {
      waitingCharacters -= lines.length
      if (index >= taken) onLost(target, count)
    }
  }

  const schedule = () => {
    if (cancel !== undefined || running !== undefined || isStopped) return
    cancel = clock.after(pauseMs, () => {
      cancel = undefined
      running = flush().finally(() => {
        running = undefined
        if (open.size > 0 || full.length > 0) schedule()
      })
    })
  }

  const readAndAdd = async (record: S3RequestRecord, reading: Promise<LoggingStatus | undefined>) => {
    readingCount++
    try {
      const status = await reading
      if (status !== undefined) add(record, status)
    } catch (error) {
      log.warn({ err: error, bucket: record.bucket }, 'the configuration of access logging could not be read')
    } finally {
      readingCount--
    }
  }

  return {
    observe(record) {
      if (record.bucket === '' || record.errorCode === 'NoSuchBucket' || readingCount >= readingMax) return
      const found = statusOf(record.bucket)
      if (found instanceof Promise) void readAndAdd(record, found)
      else if (found !== undefined) add(record, found)
    },
    async stop() {
      cancel?.()
      cancel = undefined
      await running
      await flush()
      isStopped = true
    },
  }
}
