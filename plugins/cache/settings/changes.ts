/** Changes of what operators set: each is checked against all documents, and fails where any of them has changed since. */
import { isCatalogError, type MaybePromise } from 'svc/kernel'
import type { Distribution } from 'svc/plugins/distributions/api'
import type { Preconditions, StoredDocument, StoreService, TransactionBuilder } from 'svc/plugins/store/api'
import type { WebhookChange } from '../api.ts'
import { cacheErrors, invalidRequest } from '../errors.ts'
import { builtInPolicies, type CacheLevel, type PartialPolicy, resolvePolicy } from '../policy/policy.ts'
import { patternKey } from './configuration.ts'
import {
  allOf,
  type CacheDocuments,
  clusterId,
  defaultSettings,
  headId,
  type StoredDistributionCache,
  type StoredPolicy,
  type StoredSettings,
  unsetEtag,
} from './documents.ts'
import { type LevelFields, readLevel, readPolicy, requireOrder } from './fields.ts'

const attemptsMax = 64
const policiesMax = 200

export type Stored<T> = StoredDocument<T>

export interface SettingsChanges {
  listPolicies(): Promise<readonly Stored<StoredPolicy>[]>
  /** Undefined where there is none. */
  policy(name: string): Promise<Stored<StoredPolicy> | undefined>
  /** `isNew`: it must not exist; otherwise it must. */
  putPolicy(name: string, value: StoredPolicy, options: { isNew: boolean; ifMatch?: string }): Promise<void>
  deletePolicy(name: string, ifMatch: string | undefined): Promise<void>
  settings(): Promise<Stored<StoredSettings> | undefined>
  putSettings(change: (current: StoredSettings) => StoredSettings, ifMatch: string | undefined): Promise<void>
  /** Undefined where nothing is set for it. */
  distribution(distribution: Distribution): Promise<Stored<StoredDistributionCache> | undefined>
  putDistribution(
    distribution: Distribution,
    value: Omit<StoredDistributionCache, 'distributionCreatedMs' | 'webhookChanges'>,
    ifMatch: string | undefined,
    /** Is asked again where somebody else was faster. Undefined: nobody keeps webhooks. */
    webhooks: (() => Promise<WebhookChange>) | undefined,
  ): Promise<void>
}

interface All {
  readonly settings: Stored<StoredSettings> | undefined
  readonly policies: readonly Stored<StoredPolicy>[]
  readonly distributions: readonly Stored<StoredDistributionCache>[]
}

export function createSettingsChanges(store: StoreService, documents: CacheDocuments): SettingsChanges {
  const { settings, policies, distributions, heads } = documents

  async function readAll(): Promise<All> {
    return {
      settings: await settings.get(clusterId),
      policies: await allOf(policies),
      distributions: await allOf(distributions),
    }
  }

  async function change(decide: (all: All) => MaybePromise<(tx: TransactionBuilder) => void>): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const head = await heads.get(headId)
      const apply = await decide(await readAll())
      const seen = head === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: head.etag }
      try {
        await store.transaction(tx => {
          tx.put(heads, headId, { changes: (head?.value.changes ?? 0) + 1 }, seen)
          apply(tx)
        })
        return
      } catch (error) {
        if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
        if ((await heads.get(headId))?.etag === head?.etag) throw cacheErrors.precondition_failed()
      }
    }
    throw cacheErrors.conflict('Others change cache settings all the time. Try again.')
  }

  const named = (all: All) => {
    const byName = new Map(all.policies.map(({ id, value }) => [id, readPolicy(value.policy)]))
    return (name: string) => byName.get(name)
  }

  return {
    listPolicies: () => allOf(policies),
    policy: async name => policies.get(name),
    putPolicy: (name, value, { isNew, ifMatch }) =>
      change(all => {
        const current = all.policies.find(({ id }) => id === name)
        requireCustom(name)
        if (isNew && current !== undefined) throw cacheErrors.already_exists(`There is a cache policy ${name} already.`)
        if (!isNew && current === undefined) throw noPolicy(name)
        if (isNew && all.policies.length >= policiesMax)
          throw invalidRequest('', `would be more than ${policiesMax} cache policies`)
        requirePolicy(value)
        return tx => tx.put(policies, name, value, conditionsOf(current, ifMatch))
      }),
    deletePolicy: (name, ifMatch) =>
      change(all => {
        requireCustom(name)
        const current = all.policies.find(({ id }) => id === name)
        if (current === undefined) throw noPolicy(name)
        const user = userOf(all, name)
        if (user !== undefined) throw cacheErrors.cache_policy_in_use(`The cache policy ${name} is in use: ${user}.`)
        return tx => tx.delete(policies, name, conditionsOf(current, ifMatch))
      }),
    settings: async () => settings.get(clusterId),
    putSettings: (decide, ifMatch) =>
      change(all => {
        const value = decide(all.settings?.value ?? defaultSettings)
        requireLevels([['cluster', value.cache, '/cache']], named(all))
        return tx => tx.put(settings, clusterId, value, conditionsOf(all.settings, ifMatch))
      }),
    async distribution({ id, createdMs }) {
      const found = await distributions.get(id)
      return found?.value.distributionCreatedMs === createdMs ? found : undefined
    },
    putDistribution: ({ id, createdMs, aliases, behaviors }, value, ifMatch, webhooks) =>
      change(async all => {
        const stored = all.distributions.find(one => one.id === id)
        const isFormer = stored !== undefined && stored.value.distributionCreatedMs !== createdMs
        const find = named(all)
        const cluster = all.settings?.value.cache ?? {}
        const above: Levels = [
          ['cluster', cluster, '/cache'],
          ['distribution', value.cache, '/cache'],
        ]
        requireLevels(above, find)
        for (const [index, { host, cache }] of value.domains.entries()) {
          const element = `/domains/${index}`
          if (!aliases.includes(host)) throw invalidRequest(`${element}/host`, `is no alias of the distribution ${id}`)
          requireLevels([...above, ['domain', cache, `${element}/cache`]], find)
        }
        const patterns = new Set(behaviors.map(({ pathPattern }) => patternKey(pathPattern)))
        for (const [index, { pathPattern, cache }] of value.behaviors.entries()) {
          const element = `/behaviors/${index}`
          if (!patterns.has(patternKey(pathPattern)))
            throw invalidRequest(`${element}/pathPattern`, `is of no behavior of the distribution ${id}`)
          requireLevels([...above, ['behavior', cache, `${element}/cache`]], find)
        }
        const conditions = isFormer ? { ifMatch: stored.etag } : conditionsOf(stored, ifMatch)
        if (isFormer && (ifMatch ?? unsetEtag) !== unsetEtag) throw cacheErrors.precondition_failed()
        const told = await webhooks?.()
        const changes = (isFormer ? 0 : (stored?.value.webhookChanges ?? 0)) + (told?.isChange === true ? 1 : 0)
        const document = {
          ...{ ...value, distributionCreatedMs: createdMs },
          ...(changes > 0 && { webhookChanges: changes }),
        }
        return tx => {
          tx.put(distributions, id, document, conditions)
          told?.apply(tx)
        }
      }),
  }
}

type Levels = readonly (readonly [level: CacheLevel, fields: LevelFields, element: string])[]

/** Names that do not exist, fields that are wrong, and times out of order at the last of the levels. */
function requireLevels(given: Levels, named: (name: string) => PartialPolicy | undefined): void {
  const settings = Object.fromEntries(given.map(([level, fields, element]) => [level, readLevel(fields, element)]))
  const [, { policy }, element] = given.at(-1) as Levels[number]
  if (policy !== undefined && !builtInPolicies.has(policy) && named(policy) === undefined)
    throw noPolicy(policy, `${element}/policy: `)
  requireOrder(resolvePolicy(settings, named).policy, element)
}

function requirePolicy({ policy }: StoredPolicy): void {
  requireOrder(resolvePolicy({ cluster: readPolicy(policy) }).policy, '')
}

function requireCustom(name: string): void {
  if (builtInPolicies.has(name)) throw cacheErrors.builtin_cache_policy(`The cache policy ${name} is built in.`)
}

export const noPolicy = (name: string, where = ''): Error =>
  cacheErrors.cache_policy_not_found(`${where}There is no cache policy ${JSON.stringify(name)}.`)

function conditionsOf(current: Stored<unknown> | undefined, ifMatch: string | undefined): Preconditions {
  const isOther = ifMatch !== undefined && ifMatch !== (current?.etag ?? unsetEtag)
  if (isOther && (current === undefined || ifMatch !== '*')) throw cacheErrors.precondition_failed()
  return current === undefined ? { ifNoneMatch: '*' } : { ifMatch: current.etag }
}

/** Who names the policy: a sentence without a full stop. */
function userOf({ settings, distributions }: All, name: string): string | undefined {
  if (settings?.value.cache.policy === name) return 'the settings of the cluster name it'
  for (const { id, value } of distributions) {
    const levels = [
      value.cache,
      ...value.domains.map(({ cache }) => cache),
      ...value.behaviors.map(({ cache }) => cache),
    ]
    if (levels.some(({ policy }) => policy === name)) return `the cache of the distribution ${id} names it`
  }
  return undefined
}
