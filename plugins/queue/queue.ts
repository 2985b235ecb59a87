/** The service: families, their lanes, and what is delivered of them. */
import type { Clock, Logger, MaybePromise, Ports, Threads } from 'svc/kernel'
import type { Procedure, StorageService } from 'svc/plugins/storage/api'
import type { DeliveryOptions, LaneStatus, NewEntry, QueueFamily, QueueService } from './api.ts'
import { createCommit, type PushArguments, procedure, slot } from './commit.ts'
import { createDeadLetters } from './dead-letters.ts'
import { createLaneDelivery, type LaneDelivery } from './delivery.ts'
import { checkEntry } from './entry.ts'
import { endOf, familyPrefixes, idAfter, idBytes, isFamilyName, keyAfter, type LanePlace, lanePlace } from './keys.ts'
import type { QueueFamilies } from './metrics.ts'

/** What one call of `push` takes. */
const pushEntriesMax = 1000
const pushBytesMax = 16 * 1024 * 1024
const clearEntriesMax = 1000
/** For how long the health answer tells of entries that were refused. */
const refusalShownMs = 3_600_000
const main = 0
const message = {
  revive: 'queue.revive',
  discard: 'queue.discard',
  clear: 'queue.clear',
  problem: 'queue.problem',
} as const

export interface Queue {
  readonly service: QueueService
  readonly procedures: Readonly<Record<string, Procedure>>
  /** What an operator should look at, as a sentence. */
  problem(): Promise<string | undefined>
  /** Set-up is over. */
  start(): void
  /** Ends every delivery. Idempotent. */
  stop(): Promise<void>
}

export interface QueueOptions {
  readonly storage: StorageService
  readonly threads: Threads
  readonly ports: Ports
  readonly log: Logger
  readonly families: QueueFamilies
}

/** A lane that this thread has heard of. */
interface Lane {
  readonly place: LanePlace
  delivery: LaneDelivery | undefined
  refused: number
}

interface LaneName {
  readonly family: string
  readonly lane: string
}

interface LaneDeadLetters extends LaneName {
  readonly ids: readonly string[] | undefined
}

export function createQueue({ storage, threads, ports, log, families: metrics }: QueueOptions): Queue {
  const families = new Map<string, Map<string, Lane>>()
  const refusals = new Map<string, number>()
  const deadLetters = createDeadLetters(storage)
  let isSetUp = false

  const laneOf = (family: string, name: string): Lane => {
    const lanes = families.get(family)
    if (lanes === undefined) throw new Error(`queue: the family ${family} has not been declared`)
    let lane = lanes.get(name)
    if (lane === undefined) {
      lane = { place: lanePlace(family, name), delivery: undefined, refused: 0 }
      lanes.set(name, lane)
    }
    return lane
  }

  const noteRefusal = (lane: Lane, clock: Clock, count: number): void => {
    lane.refused += count
    refusals.set(lane.place.family, clock.now())
    metrics.onRefused(lane.place, count)
  }

  const commit = createCommit({
    inlineBytesMax: () => storage.inlineBytesMax,
    place: (family, lane) => laneOf(family, lane).place,
    onPut: ({ family, lane }, key) => laneOf(family, lane).delivery?.note(key),
    onRefused: ({ family, lane }, count) => noteRefusal(laneOf(family, lane), ports.clock, count),
  })

  const push = async (family: string, lane: string, entries: readonly NewEntry[], limit: number): Promise<number> => {
    if (entries.length > pushEntriesMax) throw new RangeError(`queue: at most ${pushEntriesMax} entries at once`)
    let bytes = 0
    for (const { key, payload } of entries) {
      checkEntry(key, payload)
      bytes += payload.length
    }
    if (bytes > pushBytesMax) throw new RangeError(`queue: at most ${pushBytesMax} bytes of payloads at once`)
    laneOf(family, lane)
    if (entries.length === 0) return 0
    const given: PushArguments = { family, lane, entries: threads.isMain ? entries : entries.map(withOwnMemory), limit }
    return storage.execute<number>(procedure.push, given)
  }

  const deliver = (lane: Lane, options: DeliveryOptions): LaneDelivery => {
    const { place } = lane
    if (!threads.isMain) throw new Error('queue: lanes are delivered in the main thread')
    if (!isSetUp) throw new Error('queue: nothing is delivered before the start')
    if (lane.delivery !== undefined) throw new Error(`queue: ${place.family} ${place.lane} is delivered already`)
    const counts = metrics.of(place)
    lane.delivery = createLaneDelivery({
      storage,
      ports,
      log,
      place,
      delivery: options,
      async bury(entry, reason) {
        const dropped = await deadLetters.bury(place, entry, reason)
        if (dropped === 0) return
        counts.onDropped(dropped)
        log.warn({ family: place.family, lane: place.lane, dropped }, 'the oldest dead letters were dropped')
      },
      onSent: counts.onSent,
      onFailedAttempt: counts.onFailedAttempt,
      onStopped: () => {
        lane.delivery = undefined
      },
    })
    return lane.delivery
  }

  const clear = async (lane: Lane): Promise<number> => {
    const { place } = lane
    const below = idAfter(await storage.execute<number>(procedure.settle, undefined))
    let removed = 0
    for (const prefix of [place.waiting, place.dead]) {
      const end = Buffer.concat([prefix, Buffer.from(below, 'hex')])
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
      lane.delivery?.discard(below)
    }
    return removed
  }

  if (threads.isMain) {
    threads.handle(message.revive, ({ family, lane, ids }: LaneDeadLetters) =>
      deadLetters.revive(laneOf(family, lane).place, ids),
    )
    threads.handle(message.discard, ({ family, lane, ids }: LaneDeadLetters) =>
      deadLetters.discard(laneOf(family, lane).place, ids),
    )
    threads.handle(message.clear, ({ family, lane }: LaneName) => clear(laneOf(family, lane)))
    threads.handle(message.problem, () => problem())
  }

  const problem = (): string | undefined => {
    const sinceMs = ports.clock.now() - refusalShownMs
    const names = [...refusals].filter(([, atMs]) => atMs >= sinceMs).map(([name]) => name)
    return names.length === 0 ? undefined : `entries found their queue full within the last hour: ${names.join(', ')}`
  }

  const lanesOf = async (family: string): Promise<readonly string[]> => {
    const found = new Set<string>()
    for (const prefix of familyPrefixes(family)) {
      await storage.scan(prefix, endOf(prefix), cursor => {
        for (let has = cursor.next(); has; ) {
          const lane = cursor.key.subarray(prefix.length, cursor.key.length - idBytes - 1)
          found.add(lane.toString('utf8'))
          has = cursor.seek(Buffer.concat([prefix, lane, Buffer.from([1])]))
        }
      })
    }
    return [...found].sort()
  }

  const family = (name: string): QueueFamily => {
    if (isSetUp) throw new Error('queue: families are declared during set-up')
    if (!isFamilyName(name)) throw new RangeError(`queue: ${JSON.stringify(name)} is no name of a family`)
    if (families.has(name)) throw new Error(`queue: the family ${name} is declared twice`)
    families.set(name, new Map())
    const status = (lane: string): MaybePromise<LaneStatus> => {
      const sums = storage.counter(laneOf(name, lane).place.count)
      return sums instanceof Promise ? sums.then(asStatus) : asStatus(sums)
    }
    const lanes = () => lanesOf(name)
    if (threads.isMain) metrics.watch(name, { lanes, status })
    return {
      put: (tx, lane, entry, limit) => commit.put(tx, laneOf(name, lane).place, entry, limit),
      push: (lane, entries, limit) => push(name, lane, entries, limit),
      deliver: (lane, options) => deliver(laneOf(name, lane), options),
      status,
      refused: lane => laneOf(name, lane).refused,
      lanes,
      deadLetters: (lane, { startAfter, limit }) => deadLetters.list(laneOf(name, lane).place, startAfter, limit),
      revive: (lane, ids) => threads.call<number>(main, message.revive, { family: name, lane, ids }),
      discard: (lane, ids) => threads.call<number>(main, message.discard, { family: name, lane, ids }),
      clear: lane =>
        threads.isMain ? clear(laneOf(name, lane)) : threads.call<number>(main, message.clear, { family: name, lane }),
    }
  }

  return {
    service: { family },
    procedures: commit.procedures,
    problem: async () => (threads.isMain ? problem() : threads.call<string | undefined>(main, message.problem)),
    start() {
      isSetUp = true
    },
    async stop() {
      const lanes = [...families.values()].flatMap(each => [...each.values()])
      await Promise.all(lanes.map(({ delivery }) => delivery?.stop()))
    },
  }
}

/** A view would cross to the other thread with all of the memory that it looks at. */
function withOwnMemory(entry: NewEntry): NewEntry {
  const { key, payload } = entry
  return payload.byteLength === payload.buffer.byteLength ? entry : { key, payload: new Uint8Array(payload) }
}

function asStatus(sums: readonly number[]): LaneStatus {
  return {
    pending: sums[slot.pending] ?? 0,
    pendingBytes: sums[slot.pendingBytes] ?? 0,
    deadLetters: sums[slot.deadLetters] ?? 0,
  }
}
