/** The service in every thread; lanes are in the main thread, which the others call. */
import { type Clock, chain, type Threads } from 'svc/kernel'
import type { InvalidationSubscriber } from 'svc/plugins/cache/api'
import type { Distribution } from 'svc/plugins/distributions/api'
import type { QueueTopic } from 'svc/plugins/queue/api'
import { sentenceOf } from 'svc/plugins/queue/api'
import type { PurgeOperation, PurgeService, WebhookStatus, WebhookTestOutcome } from './api.ts'
import { CallFailure } from './call-failure.ts'
import type { StoredWebhook } from './documents.ts'
import { invalidWebhook, purgeErrors } from './errors.ts'
import { expand } from './expand.ts'
import type { Kinds } from './kinds.ts'
import { type LaneState, owedQueue } from './lane.ts'
import { laneName } from './lane-name.ts'
import type { Lanes } from './lanes.ts'
import type { Webhooks } from './webhooks.ts'

const main = 0
const testMs = 15_000

export interface ServiceOptions {
  readonly threads: Threads
  readonly webhooks: Webhooks
  /** Undefined in other threads than the main one. */
  readonly lanes: Lanes | undefined
  readonly kinds: () => Kinds
  readonly topic: Pick<QueueTopic, 'queues' | 'status'>
  readonly clock: Clock
  readonly subscriber: InvalidationSubscriber
}

export function createService({
  threads,
  webhooks,
  lanes,
  kinds,
  topic,
  clock,
  subscriber,
}: ServiceOptions): PurgeService {
  threads.handle('purge.states', (names: readonly string[]) => names.map(name => lanes?.get(name)?.state()))
  threads.handle('purge.test', ({ lane, operations }: { lane: string; operations: readonly PurgeOperation[] }) =>
    sendTest(lane, operations),
  )

  async function sendTest(
    name: string,
    operations: readonly PurgeOperation[],
  ): Promise<Omit<WebhookTestOutcome, 'webhook'>> {
    const beganNs = clock.monotonicNs()
    const took = () => Math.round(Number(clock.monotonicNs() - beganNs) / 1e6)
    const lane = lanes?.get(name)
    const failed = (error: string, status = 0) => ({ delivered: false, status, error, durationMs: took() })
    if (lane === undefined) return failed('No loaded plugin has the type of this webhook.')
    try {
      const status = await lane.sendNow(operations, AbortSignal.timeout(testMs))
      return { delivered: true, status, error: '', durationMs: took() }
    } catch (error) {
      const reason =
        (error as Error).name === 'TimeoutError' ? `There was no answer within ${testMs} ms.` : sentenceOf(error)
      return failed(reason, error instanceof CallFailure ? error.status : 0)
    }
  }

  async function statusOf(distribution: Distribution, webhook: StoredWebhook, state: LaneState | undefined) {
    const { id, type, domains, settings } = webhook
    const name = laneName(distribution.id, webhook)
    const { pending: queued } = await topic.status(name)
    const owesAll = (await topic.status(owedQueue(name))).pending > 0
    const { isOnline: online, ...rest } = state ?? {
      ...{ isOnline: false, deliveredTotal: 0, failedTotal: 0, lastAttemptMs: undefined, lastSuccessMs: undefined },
      ...{ lastError: 'No loaded plugin has the type of this webhook.', lastWidened: '' },
    }
    return { id, type, domains, url: shownUrl(settings.url), online, queued, owesAll, ...rest } satisfies WebhookStatus
  }

  return {
    ...subscriber,
    webhooks: webhooks.webhooks,
    prepare: webhooks.prepare,
    async queued() {
      const lanes = (await topic.queues()).filter(queue => !queue.startsWith(owedQueue('')))
      const states = await Promise.all(lanes.map(lane => topic.status(lane)))
      return states.reduce((sum, { pending }) => sum + pending, 0)
    },
    async status(distribution) {
      const found = await webhooks.stored(distribution)
      const names = found.map(webhook => laneName(distribution.id, webhook))
      const states = await threads.call<(LaneState | undefined)[]>(main, 'purge.states', names)
      return Promise.all(found.map((webhook, index) => statusOf(distribution, webhook, states[index])))
    },
    async test(distribution, id, url) {
      const webhook = (await webhooks.stored(distribution)).find(each => each.id === id)
      if (webhook === undefined) throw purgeErrors.webhook_not_found()
      const outcome = await threads.call<Omit<WebhookTestOutcome, 'webhook'>>(main, 'purge.test', {
        lane: laneName(distribution.id, webhook),
        operations: testOperations(distribution, webhook, url),
      })
      return { webhook: id, ...outcome }
    },
    tagHeaders: (distribution, tags) =>
      chain(webhooks.stored(distribution), found => {
        if (found.length === 0) return []
        const headers = found.flatMap(({ type }) => {
          const header = kinds().get(type)?.kind.tagHeader?.(tags)
          return header === undefined ? [] : [header]
        })
        return [...new Map(headers)]
      }),
  }
}

/** The operations of a test: they purge the URL, or the root of the first exact alias. */
function testOperations(distribution: Distribution, { domains }: StoredWebhook, url: string | undefined) {
  const aliases = domains.length === 0 ? distribution.aliases : domains
  const host = aliases.find(alias => !alias.startsWith('*.'))
  if (url === undefined && host === undefined)
    throw invalidWebhook('/url', 'is needed: the distribution has wildcards alone')
  const item = url ?? `https://${host}/`
  if (!URL.canParse(item)) throw invalidWebhook('/url', 'must be an absolute URL')
  const { operations } = expand(
    { id: '', distribution: distribution.id, kind: 'path', items: [item], isCaseInsensitive: false, isSoft: false },
    distribution,
    domains,
  )
  if (operations.length === 0) throw invalidWebhook('/url', 'must be at a domain of the webhook')
  return operations
}

function shownUrl(url: unknown): string {
  if (typeof url !== 'string' || !URL.canParse(url)) return ''
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}
