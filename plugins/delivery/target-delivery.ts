/**
 * One target in the main thread. While the target is enabled, it is connected and its queue is delivered. It is connected again when its
 * settings change. The queue stays when the target is disabled or removed, so that nothing is lost.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock, Logger } from 'svc/kernel'
import { type Delivery, type QueueEntry, type QueueTopic, sentenceOf } from 'svc/plugins/queue/api'
import type { TargetValues } from 'svc/plugins/settings/api'
import type { AnyTargetKind, DirectWay, Target, TargetDelivery, TargetName } from './api.ts'
import type { TargetCounters } from './metrics.ts'

export interface DeliveryOptions<Message, AnyTarget> {
  /** The plural of a message in log lines: `events` */
  readonly messages: string
  readonly topic: QueueTopic
  readonly clock: Clock
  readonly log: Logger
  /** The timeout of the settings covers one round trip; a batch may need several. */
  readonly roundTripsMax: number
  /** Throws `PermanentDeliveryError` for entries that cannot be read. */
  decode(entry: QueueEntry): Message
  createDirectWay?(delivery: TargetDelivery<AnyTarget>): DirectWay
}

export interface DeliveryState {
  /** Whether the target is connected, and no attempt has failed since the last success. */
  readonly isOnline: boolean
  /** Why the target is not online: a sentence without secrets. Empty if it is online. */
  readonly lastError: string
  /** Undefined if it is online. */
  readonly lastErrorMs: number | undefined
  readonly failedTotal: number
  readonly lastSuccessMs: number | undefined
}

export interface RunningDelivery<AnyTarget> extends TargetDelivery<AnyTarget> {
  /** Number of messages in memory, in front of the queue. */
  readonly pending: number
  state(): DeliveryState
  /** Takes over settings, one change after the other. Undefined if the target is not enabled. */
  apply(values: TargetValues | undefined): Promise<void>
  /**
   * Runs `work` with the connected target, whose state then says how that ended. If these settings are not in force, runs it with a target
   * that is connected only for `work`.
   */
  use(values: TargetValues, work: (target: AnyTarget) => Promise<void>): Promise<void>
  /** Ends the pauses after failures. */
  retryNow(): void
}

/** Minimum time for one attempt; settings may need more. */
const attemptMsMin = 30_000

export function createTargetDelivery<Message, AnyTarget extends Target<Message>>(
  id: string,
  name: TargetName,
  kind: AnyTargetKind<AnyTarget>,
  counters: TargetCounters,
  options: DeliveryOptions<Message, AnyTarget>,
): RunningDelivery<AnyTarget> {
  const { messages, topic, clock, log, roundTripsMax, decode, createDirectWay } = options
  let applied: TargetValues | undefined
  let target: AnyTarget | undefined
  let delivery: Delivery | undefined
  let queueLimit = 0
  const state = {
    lastError: '',
    lastErrorMs: undefined as number | undefined,
    failedTotal: 0,
    lastSuccessMs: undefined as number | undefined,
  }
  const noteError = (reason: string) => {
    state.lastError = reason
    state.lastErrorMs = reason === '' ? undefined : clock.now()
  }
  let last: Promise<void> = Promise.resolve()

  const open = (values: TargetValues): AnyTarget =>
    kind.connect(values, { id: name.id, log: log.child({ target: id }) })

  const change = async (values: TargetValues | undefined): Promise<void> => {
    // A notice of unchanged settings keeps the connection.
    if (isDeepStrictEqual(values, applied)) return
    applied = values
    await directWay?.close()
    await delivery?.stop()
    delivery = undefined
    const former = target
    target = undefined
    await former?.close()
    noteError('')
    if (values === undefined) return directWay?.moveToQueue()
    const connected = open(values)
    target = connected
    queueLimit = values.queue_limit
    const { batchMax, concurrency } = connected
    const timeout = typeof values.timeout === 'number' ? values.timeout : 0
    delivery = topic.deliver(id, {
      batchMax,
      concurrency,
      timeoutMs: Math.max(attemptMsMin, timeout * roundTripsMax),
      send: (entries, signal) => connected.send(entries.map(decode), signal),
      onSent: self.onSent,
      onFailed: self.onFailed,
    })
    directWay?.open()
    log.info({ target: id, endpoint: withoutPath(kind.endpoint(values)) }, `a target of ${messages} is enabled`)
  }

  const self: RunningDelivery<AnyTarget> = {
    id,
    get target() {
      return target
    },
    get queueLimit() {
      return queueLimit
    },
    get pending() {
      return directWay?.pending ?? 0
    },
    state: () => ({ ...state, isOnline: target !== undefined && state.lastError === '' }),
    onSent(count) {
      counters.onSent(id, count)
      if (state.lastError !== '') log.info({ target: id }, `a target takes ${messages} again`)
      noteError('')
      state.lastSuccessMs = clock.now()
    },
    onFailed(reason) {
      counters.onFailed(id)
      if (state.lastError === '') log.warn({ target: id, reason }, `a target takes no ${messages}: they are queued`)
      noteError(reason)
      state.failedTotal++
    },
    apply(values) {
      last = last
        .then(() => change(values))
        .catch(error => {
          applied = undefined
          log.error({ err: error, target: id }, `a target of ${messages} could not be connected`)
        })
      return last
    },
    async use(values, work) {
      const connected = target
      if (connected !== undefined && isDeepStrictEqual(values, applied)) {
        const note = (reason: string) => {
          // Other settings may be in force by now.
          if (target === connected) noteError(reason)
        }
        try {
          await work(connected)
        } catch (error) {
          note(sentenceOf(error))
          throw error
        }
        return note('')
      }
      const problem = kind.validate?.(values, name.id)[0]
      if (problem !== undefined) throw new Error(`The setting ${problem.key} ${problem.problem}.`)
      const once = open(values)
      try {
        await work(once)
      } finally {
        await once.close()
      }
    },
    retryNow: () => delivery?.retryNow(),
  }
  const directWay = createDirectWay?.(self)
  return self
}

/** The path of an address may be its secret, and whoever reads the log need not know it. */
const withoutPath = (endpoint: string): string => endpoint.replace(/^(\w+:\/\/[^/?#]*).*$/s, '$1')
