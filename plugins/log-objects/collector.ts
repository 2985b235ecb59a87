/** Lines wait in memory for a moment, then go into the queue of their target in one commit. */
import type { Clock, Logger } from 'svc/kernel'
import type { QueueTopic } from 'svc/plugins/queue/api'

/** The payload of an entry: lines of one destination and one part, and the destination itself. */
export type QueuedLines<D extends object> = D & {
  /** Of the first line. */
  readonly eventMs: number
  /** Each ends with a newline. */
  readonly lines: string
}

/** The name of a queue: metrics show it up to the colon. */
export const queuePrefix = 'bucket:'

const pauseMs = 200
/** In memory, in each thread. */
const waitingCharactersMax = 8 * 1024 * 1024
/** An entry is cut here; one line more may still be in it. */
const entryCharacters = 64 * 1024
/** Entries that may wait for a target. */
const queuedMax = 10_000
const pushedMax = 200

export interface CollectorOptions<D extends object> {
  readonly topic: Pick<QueueTopic, 'push'>
  readonly clock: Clock
  readonly log: Logger
  partOf(destination: D, eventMs: number): string
  onLost(target: string, count: number): void
}

export interface Collector<D extends object> {
  add(target: string, destination: D, line: string, eventMs: number): void
  /** Queues the lines in memory. Takes no more. */
  stop(): Promise<void>
}

interface Waiting<D extends object> {
  readonly target: string
  readonly destination: D
  readonly part: string
  readonly eventMs: number
  lines: string
  count: number
}

export function createCollector<D extends object>(options: CollectorOptions<D>): Collector<D> {
  const { topic, clock, log, partOf, onLost } = options
  /** The entry that is still open, by destination. */
  let open = new Map<D, Waiting<D>>()
  let full: Waiting<D>[] = []
  let waitingCharacters = 0
  let cancel: (() => void) | undefined
  let running: Promise<void> | undefined
  let isStopped = false

  const entryOf = (target: string, destination: D, eventMs: number): Waiting<D> => {
    const part = partOf(destination, eventMs)
    const known = open.get(destination)
    if (known?.part === part) return known
    if (known !== undefined) full.push(known)
    const entry = { target, destination, part, eventMs, lines: '', count: 0 }
    open.set(destination, entry)
    return entry
  }

  const add = (target: string, destination: D, line: string, eventMs: number) => {
    if (isStopped) return
    if (waitingCharacters >= waitingCharactersMax) return onLost(target, 1)
    const entry = entryOf(target, destination, eventMs)
    entry.lines += `${line}\n`
    waitingCharacters += line.length + 1
    entry.count++
    if (entry.lines.length >= entryCharacters) {
      full.push(entry)
      open.delete(destination)
    }
    schedule()
  }

  const flush = async () => {
    const byTarget = Map.groupBy([...full, ...open.values()], ({ target }) => target)
    full = []
    open = new Map()
    for (const [target, entries] of byTarget) {
      for (let at = 0; at < entries.length; at += pushedMax) await push(target, entries.slice(at, at + pushedMax))
    }
  }

  const push = async (target: string, entries: readonly Waiting<D>[]) => {
    let taken = 0
    try {
      const payloads = entries.map(({ destination, eventMs, lines }) => {
        const payload: QueuedLines<D> = { ...destination, eventMs, lines }
        return { key: '', payload: Buffer.from(JSON.stringify(payload)) }
      })
      taken = await topic.push(`${queuePrefix}${target}`, payloads, queuedMax)
    } catch (error) {
      log.warn({ err: error, target }, 'lines of logs could not be queued and are lost')
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

  return {
    add,
    async stop() {
      cancel?.()
      cancel = undefined
      await running
      await flush()
      isStopped = true
    },
  }
}
