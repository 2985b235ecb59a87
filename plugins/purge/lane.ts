/**
 * One webhook in the main thread: its queue, its budget and its state.
 *
 * What was given up is owed: an entry in a queue of its own, so that it survives a restart, until a purge of everything has been taken.
 */
import type { Clock, Logger } from 'svc/kernel'
import type { Invalidation } from 'svc/plugins/cache/api'
import type { Distribution } from 'svc/plugins/distributions/api'
import { HttpClientError } from 'svc/plugins/http-client/api'
import type { Delivery, QueueEntry, QueueTopic } from 'svc/plugins/queue/api'
import { sentenceOf } from 'svc/plugins/queue/api'
import type { PurgeCall, PurgeOperation, PurgeWebhook, PurgeWebhookKind } from './api.ts'
import { createTokenBucket, pause } from './bucket.ts'
import { CallFailure } from './call-failure.ts'
import { expand, isAt } from './expand.ts'
import type { IsTold } from './naming.ts'
import { reduceOperations } from './reduce.ts'

const batchMax = 1000
/** How long entries are gathered for the next batch. */
const gatherMs = 1000
/** A batch may be hundreds of calls, at the pace that the cache in front allows. */
const attemptMs = 1_800_000
const retryFirstMs = 1000
const retryMaxMs = 300_000
const givenUpAfterMs = 86_400_000
/** Entries that a lane may have. */
export const laneLimit = 100_000

/** A queue of at most one entry: something was given up. */
export const owedQueue = (lane: string): string => `owed:${lane}`
export const owedEntry = { key: '', payload: Buffer.alloc(0) }

export interface LaneState {
  /** Undefined: nothing was sent yet. */
  readonly isOnline: boolean | undefined
  readonly deliveredTotal: number
  readonly failedTotal: number
  readonly lastAttemptMs: number | undefined
  readonly lastSuccessMs: number | undefined
  readonly lastError: string
  readonly lastWidened: string
}

export interface LaneOptions {
  /** Name of the queue: `cdn_1:site/edge`. */
  readonly name: string
  readonly webhook: PurgeWebhook
  /** Why nothing may be sent, as a sentence: what is to be told waits in the queue. */
  readonly held?: string | undefined
  readonly limits: PurgeWebhookKind<never>['limits']
  readonly domains: readonly string[]
  /** The current distribution; undefined if it is gone. */
  distribution(): Promise<Distribution | undefined>
  /** Whether a host and path concern this webhook, by the current cache settings. */
  naming(distribution: Distribution): Promise<IsTold>
  readonly topic: QueueTopic
  readonly clock: Clock
  readonly log: Logger
  count(result: 'success' | 'failure'): void
}

export interface Lane {
  readonly name: string
  state(): LaneState
  /** Sends operations now. Rejects with the failure of a call. */
  sendNow(operations: readonly PurgeOperation[], signal: AbortSignal): Promise<void>
  stop(): Promise<void>
}

export function createLane(options: LaneOptions): Lane {
  const { name, webhook, held, limits, domains, distribution, naming, topic, clock, log, count } = options
  const bucket = createTokenBucket(limits, clock)
  const slowBucket = limits.slow && createTokenBucket(limits.slow, clock)
  const owed = owedQueue(name)
  const state = {
    isOnline: (held === undefined ? undefined : false) as boolean | undefined,
    deliveredTotal: 0,
    failedTotal: 0,
    lastAttemptMs: undefined as number | undefined,
    lastSuccessMs: undefined as number | undefined,
    lastError: held ?? '',
    lastWidened: '',
  }

  async function sendCall(call: PurgeCall, signal: AbortSignal): Promise<void> {
    if (call.isSlow && slowBucket !== undefined) await slowBucket.take(signal)
    await bucket.take(signal)
    state.lastAttemptMs = clock.now()
    try {
      if (held !== undefined) throw new Error(held)
      await webhook.send(call, signal)
      count('success')
    } catch (error) {
      count('failure')
      state.isOnline = false
      state.lastError = sentenceOf(error)
      // A wrong setting is no reason to wait; what the cache in front asks for is.
      if (error instanceof CallFailure && error.retryAfterMs > 0) bucket.holdFor(error.retryAfterMs)
      throw error
    }
    state.isOnline = true
    state.lastError = ''
    state.lastSuccessMs = clock.now()
  }

  async function sendNow(operations: readonly PurgeOperation[], signal: AbortSignal, widened: readonly string[] = []) {
    const site = await distribution()
    if (site === undefined) return
    const aliases = domains.length === 0 ? site.aliases : domains
    const hosts = aliases.filter(alias => !alias.startsWith('*.'))
    // Those of a test are of the document that was stored when it was asked for: its domains may have been others.
    if (domains.length > 0 && operations.some(each => 'host' in each && !isAt(domains, each.host)))
      throw new Error('The domains of the webhook have changed: try again.')
    const plan = webhook.plan(reduceOperations(operations), { distribution: site.id, hosts })
    state.lastWidened = [...widened, ...plan.widened].slice(0, 5).join('; ')
    for (const call of plan.calls) await sendCall(call, signal)
  }

  const owes = async () => (await topic.status(owed)).pending > 0

  async function owe(reason: string, entries: number): Promise<void> {
    await topic.push(owed, [owedEntry], 1)
    state.failedTotal += entries
    log.warn({ reason, entries }, 'purges were given up: everything is purged with the next delivery that succeeds')
  }

  /** Delivers one batch. Rejects if it must be tried again. */
  async function deliver(entries: readonly QueueEntry[], signal: AbortSignal): Promise<void> {
    const site = await distribution()
    if (site === undefined) return
    const young = entries.filter(({ queuedMs }) => queuedMs > clock.now() - givenUpAfterMs)
    if (young.length < entries.length) await owe('they are older than a day', entries.length - young.length)
    const isTold = await naming(site)
    const expansions = young.map(({ payload }) =>
      expand(JSON.parse(payload.toString()) as Invalidation, site, domains, isTold),
    )
    const isFull = (await topic.status(name)).pending >= laneLimit && (await owes())
    try {
      if (isFull) await purgeAll(signal)
      else {
        await sendNow(
          expansions.flatMap(({ operations }) => operations),
          signal,
          expansions.flatMap(({ widened }) => widened),
        )
      }
    } catch (error) {
      if (!isPermanent(error, entries.length)) throw error
      return owe(sentenceOf(error), young.length)
    }
    state.deliveredTotal += young.length
    if (!isFull && (await owes())) await purgeAll(signal)
  }

  /** Waiting entries are covered by it, those that come during it are not. */
  async function purgeAll(signal: AbortSignal): Promise<void> {
    const { pending } = await topic.status(name)
    if (pending >= laneLimit) await topic.clear(name)
    await sendNow([{ kind: 'all', isSoft: false }], signal)
    // Full again: what found no room during the call is still owed.
    if ((await topic.status(name)).pending < laneLimit) await topic.clear(owed)
  }

  const delivery: Delivery = topic.deliver(name, {
    batchMax,
    timeoutMs: attemptMs,
    retryFirstMs,
    retryMaxMs,
    async send(entries, signal) {
      const beganNs = clock.monotonicNs()
      await deliver(entries, signal)
      const tookMs = Number(clock.monotonicNs() - beganNs) / 1e6
      if (tookMs < gatherMs) await pause(clock, gatherMs - tookMs, signal).catch(() => {})
    },
    onFailed(reason) {
      log.warn({ reason }, 'a purge could not be delivered; it is tried again')
    },
  })
  // Given up before a restart, or before its settings were changed: they may be right now.
  const settling = owes().then(async isOwed => {
    if (isOwed) await topic.push(name, [{ key: '', payload: Buffer.from(JSON.stringify(everything)) }], laneLimit)
  })
  settling.catch(error => log.warn({ err: error }, 'a purge that is owed could not be queued'))

  return {
    name,
    state: () => ({ ...state }),
    sendNow,
    async stop() {
      await delivery.stop()
      await settling.catch(() => {})
      await webhook.close()
    },
  }
}

const everything: Invalidation = {
  id: '',
  distribution: undefined,
  kind: 'all',
  items: [],
  isCaseInsensitive: false,
  isSoft: false,
}

/** A call that is too large is tried again in smaller batches, until one entry alone is too large. */
function isPermanent(error: unknown, entries: number): boolean {
  if (error instanceof HttpClientError) return false
  if (!(error instanceof CallFailure)) return false
  return error.isTooLarge ? entries <= 1 : error.isPermanent
}
