/** The lanes of all webhooks, in the main thread: they follow the documents. */
import { hash } from 'node:crypto'
import type { Clock, Logger, Random } from 'svc/kernel'
import type { CacheService } from 'svc/plugins/cache/api'
import type { Distribution, DistributionsService } from 'svc/plugins/distributions/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import type { QueueTopic } from 'svc/plugins/queue/api'
import { canonicalJson } from 'svc/plugins/sealing/api'
import { referencedName, type SecretReferencesService, variableOf } from 'svc/plugins/secret-references/api'
import { domainsProblem } from './destinations.ts'
import type { StoredWebhook, WebhookCollection } from './documents.ts'
import type { Kinds } from './kinds.ts'
import { createLane, type Lane, owedQueue } from './lane.ts'
import { laneName } from './lane-name.ts'
import { alwaysTold, namingOf } from './naming.ts'
import type { Outgoing } from './outgoing.ts'

export interface LanesOptions {
  readonly collection: WebhookCollection
  readonly distributions: Pick<DistributionsService, 'get' | 'isGone'>
  /** Undefined: it is not loaded, so no level of it names webhooks. */
  readonly cache: Pick<CacheService, 'configuration'> | undefined
  readonly kinds: () => Kinds
  readonly outgoing: Outgoing
  readonly topic: QueueTopic
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly resolveSecret: SecretReferencesService['resolve']
  readonly normalizeKey: NormalizeKey
  count(type: string, result: 'success' | 'failure'): void
}

export interface Lanes {
  start(): Promise<void>
  /** Ended distributions, and lanes of webhooks that are gone. */
  tidy(): Promise<void>
  get(name: string): Lane | undefined
  stop(): Promise<void>
}

interface Running {
  readonly lane: Lane
  /** Identifies the settings of the lane: when they change, a new lane replaces it. */
  readonly form: string
}

/** Why nothing is sent until somebody has changed something. */
function heldReason(missing: string | undefined, problem: string | undefined): string | undefined {
  // Stored before that was asked for.
  if (problem !== undefined) return `domains ${problem}. Set domains, and give the secrets again.`
  return missing && `${missing} is not set on this node: set it, or ${missing}_FILE, and restart.`
}

export function createLanes(options: LanesOptions): Lanes {
  const { collection, distributions, cache, kinds, outgoing, topic, clock, random, log, count, resolveSecret } = options
  const { normalizeKey } = options
  const running = new Map<string, Running>()
  let unwatch: (() => void) | undefined
  let refreshing: Promise<void> = Promise.resolve()
  let isStopped = false

  /** The resolved secrets of a webhook. `missing` names the variable that is not set on this node. */
  function resolved({ secrets }: StoredWebhook): {
    readonly secrets: Record<string, string>
    readonly missing?: string
  } {
    const found: Record<string, string> = {}
    let missing: string | undefined
    for (const [field, text] of Object.entries(secrets)) {
      const value = resolveSecret(text)
      if (value === undefined) missing ??= variableOf(referencedName(text)!)
      found[field] = value ?? ''
    }
    return { secrets: found, ...(missing !== undefined && { missing }) }
  }

  async function wanted(): Promise<
    Map<string, { readonly distribution: Distribution; readonly webhook: StoredWebhook }>
  > {
    const found = new Map<string, { distribution: Distribution; webhook: StoredWebhook }>()
    for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
      const page: Awaited<ReturnType<typeof collection.list>> = await collection.list({ startAfter })
      for (const { id, value, etag } of page.documents) {
        const distribution = await distributions.get(id)
        // A distribution that is gone takes its webhooks with it, their secrets too.
        if (distribution?.createdMs !== value.distributionCreatedMs) {
          // A document that cannot be read is none that is gone.
          if (await distributions.isGone(id, value.distributionCreatedMs))
            await collection.delete(id, { ifMatch: etag }).catch(() => {})
          continue
        }
        for (const webhook of value.webhooks) found.set(laneName(id, webhook), { distribution, webhook })
      }
      startAfter = page.next
    }
    return found
  }

  function open(name: string, distribution: Distribution, webhook: StoredWebhook): Lane | undefined {
    const found = kinds().get(webhook.type)
    if (found === undefined) {
      log.warn({ webhook: name }, 'no loaded plugin has the type of a purge webhook: its purges wait')
      return undefined
    }
    const own = log.child({ webhook: name })
    const { id, createdMs } = distribution
    const { secrets, missing } = resolved(webhook)
    let lastStatus = 0
    const connected = found.kind.connect(
      { ...webhook.settings, ...secrets },
      {
        async request(given) {
          const answer = await outgoing.request(given)
          lastStatus = answer.status
          return answer
        },
        distribution: id,
        log: own,
        clock,
        random,
      },
    )
    return createLane({
      name,
      webhook: connected,
      lastStatus: () => lastStatus,
      held: heldReason(missing, domainsProblem(found, webhook)),
      limits: found.kind.limits,
      domains: webhook.domains,
      async distribution() {
        const current = await distributions.get(id)
        return current?.createdMs === createdMs ? current : undefined
      },
      naming: async current =>
        cache === undefined ? alwaysTold : namingOf(await cache.configuration(), current, webhook.id, normalizeKey),
      topic,
      clock,
      log: own,
      count: result => count(webhook.type, result),
    })
  }

  async function refresh(): Promise<void> {
    if (isStopped) return
    const all = await wanted()
    for (const [name, { lane }] of running) {
      if (all.has(name)) continue
      running.delete(name)
      await lane.stop()
    }
    for (const [name, { distribution, webhook }] of all) {
      // A secret of this node may have changed, too.
      const form = hash('sha256', canonicalJson([webhook, resolved(webhook).secrets]))
      const known = running.get(name)
      if (known?.form === form) continue
      running.delete(name)
      await known?.lane.stop()
      const lane = isStopped ? undefined : open(name, distribution, webhook)
      if (lane !== undefined) running.set(name, { lane, form })
    }
    for (const queue of await topic.queues()) {
      const name = queue.startsWith(owedQueue('')) ? queue.slice(owedQueue('').length) : queue
      if (!all.has(name)) await topic.clear(queue)
    }
  }

  /** Refreshes run one after the other. */
  function refreshSoon(): Promise<void> {
    refreshing = refreshing.then(refresh).catch(error => {
      log.error({ err: error }, 'purge webhooks could not be set up')
    })
    return refreshing
  }

  return {
    async start() {
      unwatch = collection.watch(
        () => void refreshSoon(),
        () => void refreshSoon(),
      )
      await refreshSoon()
    },
    tidy: refreshSoon,
    get: name => running.get(name)?.lane,
    async stop() {
      isStopped = true
      unwatch?.()
      await refreshing
      await Promise.all([...running.values()].map(({ lane }) => lane.stop()))
      running.clear()
    },
  }
}
