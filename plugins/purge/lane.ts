/**
 * One webhook in the main thread: its queue, its budget and its state.
 *
 * What was given up is owed: an entry in a queue of its own, so that it survives a restart, until a purge of everything has been taken.
 *
 * The purge of everything and the others need no order: each is told after its change, so a copy that is fetched later is a new one, and purges
 * only forget. Until everything is purged, stale copies are those of what was given up, and of nothing else. So a failure of it never
 * repeats the others, and holds them only as long as the cache in front asks for: it is tried again with pauses of its own, long ones where it
 * was refused, and when there is a reason to try.
 */
import type { Clock, Logger } from 'svc/kernel'
import type { Invalidation } from 'svc/plugins/cache/api'
import type { Distribution } from 'svc/plugins/distributions/api'
import { HttpClientError } from 'svc/plugins/http-client/api'
import type { Delivery, QueueEntry, QueueTopic } from 'svc/plugins/queue/api'
import { sentenceOf } from 'svc/plugins/queue/api'
import type { PurgeCall, PurgeOperation, PurgePlan, PurgeSite, PurgeWebhook, PurgeWebhookKind } from './api.ts'
import { createTokenBucket, pause } from './bucket.ts'
import { CallFailure } from './call-failure.ts'
import { type Expansion, expand, isAt } from './expand.ts'
import type { IsTold } from './naming.ts'
import { coverOf, reduceOperations } from './reduce.ts'

const batchMax = 1000
/** How long entries are gathered for the next batch. */
const gatherMs = 1000
/** A batch may be hundreds of calls, at the pace that the cache in front allows. */
const attemptMs = 1_800_000
const retryFirstMs = 1000
const retryMaxMs = 300_000
/** A refusal of everything may pass, too: a token was being replaced, a firewall was wrong. */
const refusedRetryMs = 3_600_000
const givenUpAfterMs = 86_400_000
/** Entries that a lane may have. */
export const laneLimit = 100_000

/** A queue of at most one entry: something was given up. */
export const owedQueue = (lane: string): string => `owed:${lane}`
export const owedEntry = { key: '', payload: Buffer.alloc(0) }
/** An entry of the lane that purges nothing: its delivery settles what is owed. */
const settlingEntry = { key: '', payload: Buffer.alloc(0) }
const isPurge = ({ payload }: QueueEntry): boolean => payload.length > 0

export interface LaneState {
  /** Undefined: nothing was sent yet. */
  readonly isOnline: boolean | undefined
  readonly deliveredTotal: number
  readonly failedTotal: number
  readonly lastAttemptMs: number | undefined
  readonly lastSuccessMs: number | undefined
  /** Of the last call, or why everything that is owed is not taken. */
  readonly lastError: string
  readonly lastWidened: string
}

export interface LaneOptions {
  /** Name of the queue: `cdn_1:site/edge`. */
  readonly name: string
  readonly webhook: PurgeWebhook
  /** Of its last answer. */
  lastStatus(): number
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
  /** For each call that was made. */
  count(result: 'success' | 'failure'): void
}

export interface Lane {
  readonly name: string
  state(): LaneState
  /** Sends operations now; the status of the last answer. Rejects with the failure of a call. After a success what is owed is tried again. */
  sendNow(operations: readonly PurgeOperation[], signal: AbortSignal): Promise<number>
  stop(): Promise<void>
}

export function createLane(options: LaneOptions): Lane {
  const { name, webhook, lastStatus, held, limits, domains, distribution, naming, topic, clock, log, count } = options
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
  /** Why everything was refused, at the last attempt. */
  let refused: string | undefined
  /** Failures of the purge of everything that may pass. */
  let failures = 0
  /** Defined while it waits for its next attempt. */
  let cancelRetry: (() => void) | undefined
  /** A batch was refused since: the next one that is taken ends the wait. */
  let isUntilTaken = false
  let isStopped = false

  /** The status of the answer. */
  async function sendCall(call: PurgeCall, signal: AbortSignal): Promise<number> {
    if (call.isSlow && slowBucket !== undefined) await slowBucket.take(signal)
    await bucket.take(signal)
    let status: number
    state.lastAttemptMs = clock.now()
    try {
      await webhook.send(call, signal)
      status = lastStatus()
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
    return status
  }

  async function sendNow(operations: readonly PurgeOperation[], signal: AbortSignal, widened: readonly string[] = []) {
    const site = await distribution()
    if (site === undefined) return 0
    if (held !== undefined) throw new Error(held)
    // Those of a test are of the document that was stored when it was asked for: its domains may have been others.
    if (domains.length > 0 && operations.some(each => 'host' in each && !isAt(domains, each.host)))
      throw new Error('The domains of the webhook have changed: try again.')
    const plan = webhook.plan(reduceOperations(operations), placesOf(site))
    const problem = problemOf(plan)
    if (problem !== undefined) throw new CallFailure(problem, { isPermanent: true })
    state.lastWidened = [...widened, ...plan.widened].slice(0, 5).join('; ')
    let status = 0
    for (const call of plan.calls) status = await sendCall(call, signal)
    return status
  }

  function placesOf(site: Distribution): PurgeSite {
    const aliases = domains.length === 0 ? site.aliases : domains
    return { distribution: site.id, hosts: aliases.filter(alias => !alias.startsWith('*.')) }
  }

  /** Where nothing may be sent it waits, whatever it is. */
  const problemOf = ({ calls }: PurgePlan) =>
    held === undefined ? calls.find(({ problem }) => problem !== undefined)?.problem : undefined

  /** What the settings of the webhook allow, and the problems of the entries that have something else. */
  function splitByPossible(expansions: readonly Expansion[], site: Distribution) {
    const places = placesOf(site)
    const problemWith = (operations: readonly PurgeOperation[]) => problemOf(webhook.plan(operations, places))
    const all = expansions.flatMap(({ operations }) => operations)
    if (problemWith(reduceOperations(all)) === undefined) return { possible: expansions, problems: [] }
    // What cannot be purged covers nothing: each operation is asked for alone. It is missing where no other one covers it.
    const problemBy = new Map(all.map(operation => [operation, problemWith([operation])]))
    const isPossible = (operation: PurgeOperation) => problemBy.get(operation) === undefined
    const isCovered = coverOf(all.filter(isPossible))
    const possible = expansions.map(
      ({ operations, widened }): Expansion => ({ operations: operations.filter(isPossible), widened }),
    )
    const problems = expansions.flatMap(({ operations }) => {
      const missing = operations.find(operation => !isPossible(operation) && !isCovered(operation))
      return missing === undefined ? [] : [problemBy.get(missing)!]
    })
    return { possible, problems }
  }

  const owes = async () => (await topic.status(owed)).pending > 0

  async function owe(reason: string, entries: number): Promise<void> {
    await topic.push(owed, [owedEntry], 1)
    state.failedTotal += entries
    log.warn({ reason, entries }, 'purges were given up: everything has to be purged')
  }

  /** Delivers one batch. Rejects if it must be tried again. */
  async function deliver(entries: readonly QueueEntry[], signal: AbortSignal): Promise<void> {
    const site = await distribution()
    if (site === undefined) return
    const purges = entries.filter(isPurge)
    const young = purges.filter(({ queuedMs }) => queuedMs > clock.now() - givenUpAfterMs)
    if (young.length < purges.length) {
      await owe('they are older than a day', purges.length - young.length)
      if (refused !== undefined) resume()
    }
    // Before the calls of the batch, which it covers: after them it could use up the time of the attempt, and they would be repeated.
    const isDue = purges.length < entries.length || (await topic.status(name)).pending >= laneLimit
    if (isDue && (await isSettled(signal))) {
      state.deliveredTotal += young.length
      return
    }
    const isTold = await naming(site)
    const expansions = young.map(({ payload }) =>
      expand(JSON.parse(payload.toString()) as Invalidation, site, domains, isTold),
    )
    const { possible, problems } = splitByPossible(expansions, site)
    const operations = possible.flatMap(each => each.operations)
    try {
      if (operations.length > 0) {
        await sendNow(
          operations,
          signal,
          possible.flatMap(({ widened }) => widened),
        )
      }
    } catch (error) {
      if (!isPermanent(error, purges.length)) throw error
      await owe(sentenceOf(error), young.length)
      // Now everything would be refused, too. The next batch that is taken ends the pause.
      if (cancelRetry === undefined && !isStopped) settleAfter(refusedRetryMs)
      isUntilTaken = true
      return
    }
    state.deliveredTotal += young.length - problems.length
    if (operations.some(({ kind, isSoft }) => kind === 'all' && !isSoft)) await forgetOwed()
    if (problems.length > 0) {
      await owe(problems[0]!, problems.length)
      if (refused !== undefined) resume()
    }
    if (isUntilTaken && operations.length > 0) resume()
    if (cancelRetry === undefined) await settleSoon()
  }

  /** Purges everything if it is owed, and no pause after a failure is under way. Does not reject: a batch never fails for it. */
  async function isSettled(signal: AbortSignal): Promise<boolean> {
    if (cancelRetry !== undefined) return false
    try {
      if (!(await owes())) return false
      await purgeAll(signal)
      return true
    } catch (error) {
      if (!isStopped) retryAfter(error)
      return false
    }
  }

  function retryAfter(error: unknown): void {
    const reason = sentenceOf(error)
    const isRefused = isPermanent(error, 1)
    refused = isRefused ? reason : undefined
    if (!isRefused) failures++
    const delayMs = isRefused ? refusedRetryMs : Math.min(retryFirstMs * 2 ** Math.min(failures - 1, 30), retryMaxMs)
    log.warn({ reason, retryInMs: delayMs }, 'everything could not be purged; it is tried again')
    settleAfter(delayMs)
  }

  function settleAfter(delayMs: number): void {
    cancelRetry = clock.after(delayMs, () => {
      cancelRetry = undefined
      void settleSoon()
    })
  }

  /** With the next batch. */
  async function settleSoon(): Promise<void> {
    try {
      // A full queue has a next batch.
      if (await owes()) await topic.push(name, [settlingEntry], laneLimit)
    } catch (error) {
      log.warn({ err: error }, 'a purge that is owed could not be queued')
    }
  }

  /** Empties a full queue, too. */
  async function purgeAll(signal: AbortSignal): Promise<void> {
    await sendNow(everything.operations, signal)
    if ((await topic.status(name)).pending >= laneLimit) {
      // Not before it is known that everything is taken. It does not cover what came during that call, so there is another one.
      await topic.clear(name)
      await sendNow(everything.operations, signal)
    }
    await forgetOwed()
  }

  /** There is a reason to try what is owed again, whatever the last attempt said. */
  function resume(): void {
    refused = undefined
    isUntilTaken = false
    failures = 0
    cancelRetry?.()
    cancelRetry = undefined
  }

  async function forgetOwed(): Promise<void> {
    resume()
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
  const settling = settleSoon()

  return {
    name,
    state: () => ({ ...state, lastError: state.lastError || (refused ?? '') }),
    async sendNow(operations, signal) {
      const status = await sendNow(operations, signal)
      resume()
      await settleSoon()
      return status
    },
    async stop() {
      isStopped = true
      cancelRetry?.()
      await delivery.stop()
      await settling
      await webhook.close()
    },
  }
}

const everything: Expansion = { operations: [{ kind: 'all', isSoft: false }], widened: [] }

/** A call that is too large is tried again in smaller batches, until one entry alone is too large. */
function isPermanent(error: unknown, entries: number): boolean {
  if (error instanceof HttpClientError) return false
  if (!(error instanceof CallFailure)) return false
  return error.isTooLarge ? entries <= 1 : error.isPermanent
}
