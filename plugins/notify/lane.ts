/**
 * One target in the main thread: connected and delivered to while it is enabled, connected anew when its settings change. Its lane of
 * the queue is there before and afterwards, so that nothing is lost while it is not.
 */
import type { Clock, Logger } from 'svc/kernel'
import type { Delivery, DeliveryState, QueueEntry, QueueFamily } from 'svc/plugins/queue/api'
import type { TargetValues } from 'svc/plugins/settings/api'
import { type NotifyMessage, type NotifyTarget, PermanentDeliveryError } from './api.ts'
import { type TargetName, targetId } from './arn.ts'
import { decodeEvent } from './kept-event.ts'
import { createMessage, type MessagePlace } from './message.ts'
import type { KindSettings } from './subsystems.ts'

export interface LaneOptions {
  readonly name: TargetName
  readonly kindSettings: KindSettings
  readonly family: QueueFamily
  readonly place: () => MessagePlace
  readonly clock: Clock
  readonly log: Logger
  onSent(target: string, count: number): void
  onFailed(target: string): void
}

export interface TargetLane {
  readonly id: string
  /** Takes the settings as they are; undefined: the target is not configured any more. One change after the other. */
  apply(values: TargetValues | undefined): Promise<void>
  /** Undefined where it is not enabled. */
  state(): DeliveryState | undefined
  readonly failedTotal: number
  /** Of the time before the last change of settings, too. */
  readonly lastSuccessMs: number | undefined
  /** Rejects with why it was not delivered. */
  test(body: Buffer, values: TargetValues, signal: AbortSignal): Promise<void>
  retryNow(): void
}

/** Of one attempt, where the settings do not give it more. */
const attemptMs = 30_000

export function createLane(options: LaneOptions): TargetLane {
  const { name, kindSettings, family, place, log, onSent, onFailed } = options
  const { kind } = kindSettings
  const id = targetId(name)
  let applied: TargetValues | undefined
  let target: NotifyTarget | undefined
  let delivery: Delivery | undefined
  let failedTotal = 0
  let lastSuccessMs: number | undefined
  let last: Promise<void> = Promise.resolve()

  const send = async (entries: readonly QueueEntry[], signal: AbortSignal) => {
    const messages = entries.map(entry => toMessage(entry, place()))
    try {
      await target!.send(messages, signal)
    } catch (error) {
      failedTotal++
      onFailed(id)
      throw error
    }
    lastSuccessMs = options.clock.now()
    onSent(id, messages.length)
  }

  const open = (values: TargetValues): NotifyTarget =>
    kind.connect(values, { id: name.id, log: log.child({ target: id }) })

  const disconnect = async () => {
    const [former, connected] = [delivery, target]
    delivery = undefined
    await former?.stop()
    target = undefined
    await connected?.close()
  }

  const change = async (values: TargetValues | undefined) => {
    // Settings are told of again where nothing changed: a connection that works stays.
    if (values === applied) return
    applied = values
    await disconnect()
    if (values?.enable !== true) return
    target = open(values)
    const { batchMax, concurrency } = target
    const timeoutMs = Math.max(attemptMs, typeof values.timeout === 'number' ? values.timeout * 2 : 0)
    delivery = family.deliver(id, { batchMax, concurrency, timeoutMs, send })
    log.info({ target: id, endpoint: kind.endpoint(values) }, 'events are delivered')
  }

  return {
    id,
    apply(values) {
      const done = last.then(() => change(values))
      last = done.catch(error => {
        applied = undefined
        log.error({ err: error, target: id }, 'a target of events could not be connected')
      })
      return last
    },
    state: () => delivery?.state(),
    get failedTotal() {
      return failedTotal
    },
    get lastSuccessMs() {
      return lastSuccessMs
    },
    async test(body, values, signal) {
      if (target !== undefined && values === applied) return target.test(body, signal)
      const problem = kind.validate?.(values, name.id)[0]
      if (problem !== undefined) throw new Error(`The setting ${problem.key} ${problem.problem}.`)
      const once = open(values)
      try {
        await once.test(body, signal)
      } finally {
        await once.close()
      }
    },
    retryNow: () => delivery?.retryNow(),
  }
}

function toMessage({ payload }: QueueEntry, place: MessagePlace): NotifyMessage {
  try {
    const { event, configurationId } = decodeEvent(payload)
    return createMessage(event, configurationId, place)
  } catch (cause) {
    // Trying again would keep everything behind it.
    throw new PermanentDeliveryError('The event cannot be read.', { cause })
  }
}
