/** The service: topics, their queues and deliveries. */
import { type Logger, type MaybePromise, type Ports, type Threads, withOwnMemory } from 'svc/kernel'
import type { Procedure, StorageService } from 'svc/plugins/storage/api'
import type { DeadLetterSelection, DeliveryOptions, NewEntry, QueueService, QueueStatus, QueueTopic } from './api.ts'
import { createCommit, type PushArguments, procedure, slot } from './commit.ts'
import { createDeadLetters } from './dead-letters.ts'
import { createQueueDelivery, type QueueDelivery } from './delivery.ts'
import { checkEntry } from './entry.ts'
import { endOf, idAfter, idBytes, isTopicName, keyAfter, type QueuePlace, queuePlace, topicPrefixes } from './keys.ts'
import type { QueueMetrics } from './metrics.ts'

/** Bounds of one call of `push`. */
const pushEntriesMax = 1000
const pushBytesMax = 16 * 1024 * 1024
const clearEntriesMax = 1000
/** How long the health answer reports refused entries. */
const refusalShownMs = 3_600_000
const main = 0
const message = {
  retry: 'queue.retry',
  discard: 'queue.discard',
  clear: 'queue.clear',
  problem: 'queue.problem',
} as const

export interface Queues {
  readonly service: QueueService
  readonly procedures: Readonly<Record<string, Procedure>>
  /** A sentence for the health answer; undefined when there is no problem. */
  problem(): Promise<string | undefined>
  /** Set-up is over. */
  start(): void
  /** Ends every delivery. Idempotent. */
  stop(): Promise<void>
}

export interface QueuesOptions {
  readonly storage: StorageService
  readonly threads: Threads
  readonly ports: Ports
  readonly log: Logger
  readonly metrics: QueueMetrics
}

/** A queue that this thread has used. */
interface KnownQueue {
  readonly place: QueuePlace
  delivery: QueueDelivery | undefined
}

interface QueueName {
  readonly topic: string
  readonly queue: string
}

interface DeadLetterRequest extends QueueName {
  readonly which: DeadLetterSelection
}

export function createQueues({ storage, threads, ports, log, metrics }: QueuesOptions): Queues {
  const topics = new Map<string, Map<string, KnownQueue>>()
  const refusals = new Map<string, number>()
  const deadLetters = createDeadLetters(storage)
  let isSetUp = false

  const queueOf = (topic: string, name: string): KnownQueue => {
    const queues = topics.get(topic)
    if (queues === undefined) throw new Error(`queue: the topic ${topic} has not been declared`)
    let queue = queues.get(name)
    if (queue === undefined) {
      queue = { place: queuePlace(topic, name), delivery: undefined }
      queues.set(name, queue)
    }
    return queue
  }

  const commit = createCommit({
    inlineBytesMax: () => storage.inlineBytesMax,
    place: (topic, queue) => queueOf(topic, queue).place,
    onPut: ({ topic, queue }, key) => queueOf(topic, queue).delivery?.onPut(key),
    onRefused(place, count) {
      refusals.set(place.topic, ports.clock.now())
      metrics.onRefused(place, count)
    },
  })

  const push = async (topic: string, queue: string, entries: readonly NewEntry[], limit: number): Promise<number> => {
    if (entries.length > pushEntriesMax) throw new RangeError(`queue: at most ${pushEntriesMax} entries at once`)
    let bytes = 0
    for (const { key, payload } of entries) {
      checkEntry(key, payload)
      bytes += payload.length
    }
    if (bytes > pushBytesMax) throw new RangeError(`queue: at most ${pushBytesMax} bytes of payloads at once`)
    queueOf(topic, queue)
    if (entries.length === 0) return 0
    const ofOwn = ({ key, payload }: NewEntry): NewEntry => ({ key, payload: withOwnMemory(payload) })
    const given: PushArguments = { topic, queue, entries: threads.isMain ? entries : entries.map(ofOwn), limit }
    return storage.execute<number>(procedure.push, given)
  }

  const deliver = (queue: KnownQueue, options: DeliveryOptions): QueueDelivery => {
    const { place } = queue
    if (!threads.isMain) throw new Error('queue: only the main thread delivers')
    if (!isSetUp) throw new Error('queue: deliveries begin after set-up')
    if (queue.delivery !== undefined) throw new Error(`queue: ${place.topic} ${place.queue} is delivered already`)
    const counters = metrics.of(place)
    queue.delivery = createQueueDelivery({
      storage,
      ports,
      log,
      place,
      delivery: options,
      async deadLetter(entry, reason) {
        const dropped = await deadLetters.add(place, entry, reason)
        if (dropped === 0) return
        counters.onDropped(dropped)
        log.warn({ topic: place.topic, queue: place.queue, dropped }, 'the oldest dead letters were dropped')
      },
      counters,
      onStopped: () => {
        queue.delivery = undefined
      },
    })
    return queue.delivery
  }

  const clear = async (queue: KnownQueue): Promise<number> => {
    const { place } = queue
    const nextId = async () => idAfter(await storage.execute<number>(procedure.barrier, undefined))
    const below = await nextId()
    let removed = 0
    for (const prefix of [place.waiting, place.dead]) {
      // An entry that was given up meanwhile has a later id.
      const end = Buffer.concat([prefix, Buffer.from(prefix === place.dead ? await nextId() : below, 'hex')])
      for (let start = prefix; ; ) {
        const keys = await storage.scan(start, end, cursor => {
          const found: Buffer[] = []
          while (found.length < clearEntriesMax && cursor.next()) found.push(Buffer.from(cursor.key))
          return found
        })
        if (keys.length === 0) break
        removed += await storage.execute<number>(procedure.remove, keys)
        start = keyAfter(prefix, keys.at(-1)!.toString('hex', prefix.length))
      }
      queue.delivery?.discard(below)
    }
    return removed
  }

  if (threads.isMain) {
    threads.handle(message.retry, ({ topic, queue, which }: DeadLetterRequest) =>
      deadLetters.retry(queueOf(topic, queue).place, which),
    )
    threads.handle(message.discard, ({ topic, queue, which }: DeadLetterRequest) =>
      deadLetters.discard(queueOf(topic, queue).place, which),
    )
    threads.handle(message.clear, ({ topic, queue }: QueueName) => clear(queueOf(topic, queue)))
    threads.handle(message.problem, () => problem())
  }

  const problem = (): string | undefined => {
    const sinceMs = ports.clock.now() - refusalShownMs
    const names = [...refusals].filter(([, atMs]) => atMs >= sinceMs).map(([name]) => name)
    return names.length === 0 ? undefined : `entries found their queue full within the last hour: ${names.join(', ')}`
  }

  const queuesOf = async (topic: string): Promise<readonly string[]> => {
    const found = new Set<string>()
    for (const prefix of topicPrefixes(topic)) {
      await storage.scan(prefix, endOf(prefix), cursor => {
        for (let has = cursor.next(); has; ) {
          const queue = cursor.key.subarray(prefix.length, cursor.key.length - idBytes - 1)
          found.add(queue.toString('utf8'))
          has = cursor.seek(Buffer.concat([prefix, queue, Buffer.from([1])]))
        }
      })
    }
    return [...found].sort()
  }

  const topic = (name: string): QueueTopic => {
    if (isSetUp) throw new Error('queue: topics are declared during set-up')
    if (!isTopicName(name)) throw new RangeError(`queue: ${JSON.stringify(name)} is no name of a topic`)
    if (topics.has(name)) throw new Error(`queue: the topic ${name} is declared twice`)
    topics.set(name, new Map())
    const status = (queue: string): MaybePromise<QueueStatus> => {
      const sums = storage.counter(queueOf(name, queue).place.count)
      return sums instanceof Promise ? sums.then(asStatus) : asStatus(sums)
    }
    const queues = () => queuesOf(name)
    if (threads.isMain) metrics.watch(name, { queues, status })
    return {
      put: (tx, queue, entry, limit) => commit.put(tx, queueOf(name, queue).place, entry, limit),
      push: (queue, entries, limit) => push(name, queue, entries, limit),
      deliver: (queue, options) => deliver(queueOf(name, queue), options),
      status,
      queues,
      deadLetters: (queue, { startAfter, limit }) => deadLetters.list(queueOf(name, queue).place, startAfter, limit),
      countDeadLetters: queue => deadLetters.count(queueOf(name, queue).place),
      retryDeadLetters: (queue, which = {}) => threads.call<number>(main, message.retry, { topic: name, queue, which }),
      discardDeadLetters: (queue, which = {}) =>
        threads.call<number>(main, message.discard, { topic: name, queue, which }),
      clear: queue =>
        threads.isMain
          ? clear(queueOf(name, queue))
          : threads.call<number>(main, message.clear, { topic: name, queue }),
    }
  }

  return {
    service: { topic },
    procedures: commit.procedures,
    problem: async () => (threads.isMain ? problem() : threads.call<string | undefined>(main, message.problem)),
    start() {
      isSetUp = true
    },
    async stop() {
      const queues = [...topics.values()].flatMap(each => [...each.values()])
      await Promise.all(queues.map(({ delivery }) => delivery?.stop()))
    },
  }
}

function asStatus(sums: readonly number[]): QueueStatus {
  return {
    pending: sums[slot.pending] ?? 0,
    pendingBytes: sums[slot.pendingBytes] ?? 0,
    deadLetters: sums[slot.deadLetters] ?? 0,
  }
}
