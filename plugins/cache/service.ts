/** The service that the operations of this plugin use. */
import type { MaybePromise } from 'svc/kernel'
import type { Distribution, DistributionsService } from 'svc/plugins/distributions/api'
import type { CacheConfiguration, CacheWebhooks } from './api.ts'
import { cacheErrors } from './errors.ts'
import type { createInspect } from './inspect/inspect.ts'
import type { PurgeFacts, Purges } from './purge/purges.ts'
import { indexDocumentsOf, mayHit, type PurgeInput } from './purge/selection.ts'
import type { SettingsChanges } from './settings/changes.ts'
import type { createStats } from './stats/stats.ts'
import type { Warmups } from './warm/warmups.ts'

export interface CacheAdmin {
  readonly settings: SettingsChanges
  readonly purges: Pick<Purges, 'get' | 'list'>
  readonly stats: ReturnType<typeof createStats>
  /** Undefined: no loaded plugin keeps webhooks. */
  webhooks(): CacheWebhooks | undefined
  /** Value of `SVC_CACHE_MODE`. */
  readonly mode: string
  /** Throws `distribution_not_found` and `invalid_cache_request`. */
  readonly inspect: ReturnType<typeof createInspect>
  readonly warmups: Pick<Warmups, 'get' | 'start'>
  /** False: the plugin of queues is not loaded. */
  readonly warmsOnWrite: boolean
  /** Whether anything of the distribution is cached at one of these aliases. */
  caches(distribution: Distribution, aliases: readonly string[]): Promise<boolean>
  /** Throws `distribution_not_found`. */
  distribution(id: string): Promise<Distribution>
  distributions(): Promise<readonly Distribution[]>
  /** Whether a purge of all distributions may select answers of this one. Throws `invalid_cache_request`. */
  readonly mayHit: typeof mayHit
  /** Distributions of which a purge of all may select answers. Throws `invalid_cache_request`. */
  hitBy(input: PurgeInput): Promise<readonly Distribution[]>
  /**
   * Purges answers of one distribution, or of all. Resolves when the purge is in force; with `dryRun` it only counts. Throws `invalid_cache_request`.
   */
  purge(
    input: PurgeInput & { readonly dryRun?: boolean },
    distribution: Distribution | undefined,
    actor: string,
  ): Promise<PurgeFacts>
}

export interface CacheAdminOptions {
  readonly settings: SettingsChanges
  readonly purges: Purges
  readonly stats: ReturnType<typeof createStats>
  readonly mode: string
  readonly webhooks: () => CacheWebhooks | undefined
  readonly inspect: ReturnType<typeof createInspect>
  readonly distributions: DistributionsService | undefined
  readonly warmups: Pick<Warmups, 'get' | 'start'>
  /** False: the plugin of queues is not loaded. */
  readonly warmsOnWrite: boolean
  readonly configuration: () => MaybePromise<CacheConfiguration>
}

export function createCacheAdmin(options: CacheAdminOptions): CacheAdmin {
  const { purges, distributions, configuration } = options
  const all = async () => (await distributions?.all()) ?? []
  return {
    ...options,
    distributions: all,
    mayHit,
    async distribution(id) {
      const found = await distributions?.get(id)
      if (found === undefined) throw cacheErrors.distribution_not_found()
      return found
    },
    async caches({ id, createdMs, mode, behaviors }, aliases) {
      const { policyOf } = await configuration()
      const patterns = [undefined, ...behaviors.map(({ pathPattern }) => pathPattern)]
      const places = aliases.flatMap(alias =>
        patterns.map(pathPattern => ({ distribution: id, createdMs, alias, pathPattern })),
      )
      return mode === 'website' && places.some(place => !policyOf(place).isOff)
    },
    async hitBy(input) {
      return (await all()).filter(distribution => mayHit(distribution, input))
    },
    async purge(input, distribution, actor) {
      const selected = distribution === undefined ? await all() : [distribution]
      const context = { distribution, indexDocuments: indexDocumentsOf(selected), actor }
      return input.dryRun === true ? purges.preview(input, context) : purges.request(input, context)
    },
  }
}

declare module 'svc/kernel' {
  interface Services {
    /** For the operations of this plugin only. */
    cacheAdmin: CacheAdmin
  }
}
