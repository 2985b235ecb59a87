/** Makes the configured tiers from their kinds, and the key with which all threads encrypt. */
import type { Logger, Point, Ports, Threads } from 'svc/kernel'
import type { MetricFamilies } from 'svc/plugins/metrics/api'
import type { CacheTierKind } from '../api.ts'
import type { Holds } from '../engine/storing.ts'
import { type GuardedTier, guardTier } from './guarded-tier.ts'
import { createSeal, type Seal, sealKeyBytes } from './seal.ts'
import { createTiers, type Tiers } from './tiers.ts'

const keyMessage = 'cache.seal-key'

export interface TierStackOptions {
  readonly point: Point<CacheTierKind>
  readonly threads: Threads
  readonly ports: Ports
  readonly log: Logger
  readonly metrics: MetricFamilies
  readonly holds: Holds
  /** Called once the storage has started. */
  readonly deploymentId: () => Promise<string>
}

export interface TierStack {
  /** Has no tiers before `start`. */
  readonly tiers: Tiers
  start(): Promise<void>
  /** Idempotent. */
  stop(): Promise<void>
}

export function createTierStack({
  point,
  threads,
  ports,
  log,
  metrics,
  holds,
  deploymentId,
}: TierStackOptions): TierStack {
  const { clock, random } = ports
  const started: GuardedTier[] = []
  const key = threads.isMain ? random.bytes(sealKeyBytes) : undefined
  let seal: Seal | undefined
  const failures = metrics.counter({
    name: 'svc_cache_tier_failures_total',
    help: 'Calls of tiers of the cache behind memory that were rejected or took too long.',
    labels: ['tier'],
  })
  if (threads.isMain) threads.handle(keyMessage, () => key)

  return {
    tiers: createTiers({
      tiers: started,
      holds,
      seal() {
        if (seal === undefined) throw new TypeError('the tiers of the cache have not started')
        return seal
      },
    }),
    async start() {
      const kinds = point.list().filter(({ value }) => value.isConfigured)
      if (kinds.length === 0) return
      const context = { log, clock, random, deploymentId: await deploymentId() }
      seal = createSeal(Buffer.from(key ?? (await threads.call<Uint8Array>(0, keyMessage))), random)
      for (const { id: name, value: kind } of kinds) {
        const { budgetBytes } = kind
        const tier = kind.create({ ...context, budgetBytes })
        const onFailure = () => failures.inc({ tier: name })
        started.push(guardTier({ name, tier, budgetBytes, clock, log, onFailure }))
        await tier.start()
      }
    },
    async stop() {
      for (const tier of started.reverse()) await tier.stop()
    },
  }
}
