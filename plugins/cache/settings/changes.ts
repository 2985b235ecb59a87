/** Changes the cache settings of operators. Each change is checked against all documents, and again if any of them has changed before the commit. */
import { isCatalogError, type MaybePromise } from 'svc/kernel'
import type { Distribution, DistributionsService } from 'svc/plugins/distributions/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import {
  everyDocument,
  type Preconditions,
  type StoredDocument,
  type StoreService,
  type TransactionBuilder,
} from 'svc/plugins/store/api'
import type { WebhookChange } from '../api.ts'
import { cacheErrors } from '../errors.ts'
import {
  type CacheValues,
  type DistributionCacheContent,
  noPolicy,
  requireCustom,
  requireDistribution,
  requirePolicy,
  requirePolicyRoom,
  requireSettings,
  requireUnused,
  requireWebhooks,
} from './checks.ts'
import {
  type CacheDocuments,
  clusterId,
  defaultSettings,
  headId,
  type StoredDistributionCache,
  type StoredPolicy,
  type StoredSettings,
  unsetEtag,
} from './documents.ts'

const attemptsMax = 64

export type Stored<T> = StoredDocument<T>

export interface SettingsChanges {
  listPolicies(): Promise<readonly Stored<StoredPolicy>[]>
  /** Undefined: there is no such policy. */
  policy(name: string): Promise<Stored<StoredPolicy> | undefined>
  /** `isNew`: the policy must not exist; otherwise it must exist. */
  putPolicy(name: string, value: StoredPolicy, options: { isNew: boolean; ifMatch?: string }): Promise<void>
  deletePolicy(name: string, ifMatch: string | undefined): Promise<void>
  settings(): Promise<Stored<StoredSettings> | undefined>
  putSettings(change: (current: StoredSettings) => StoredSettings, ifMatch: string | undefined): Promise<void>
  /** Undefined: nothing is set for the distribution. */
  distribution(distribution: Distribution): Promise<Stored<StoredDistributionCache> | undefined>
  putDistribution(
    distribution: Distribution,
    value: DistributionCacheContent,
    ifMatch: string | undefined,
    /** Called again if another change came first. Undefined: no plugin keeps webhooks. */
    webhooks: (() => Promise<WebhookChange>) | undefined,
  ): Promise<void>
  /** Removes the settings of distributions that are gone. */
  tidy(isGone: DistributionsService['isGone']): Promise<void>
  /** Commits changes of documents that were checked elsewhere. `fill` is called again if another change came first. */
  commit(fill: (tx: TransactionBuilder) => void): Promise<void>
}

export interface AllSettings {
  readonly settings: Stored<StoredSettings> | undefined
  readonly policies: readonly Stored<StoredPolicy>[]
  readonly distributions: readonly Stored<StoredDistributionCache>[]
}

export async function readAll({ settings, policies, distributions }: CacheDocuments): Promise<AllSettings> {
  return {
    settings: await settings.get(clusterId),
    policies: await everyDocument(policies),
    distributions: await everyDocument(distributions),
  }
}

export function valuesOf({ settings, policies, distributions }: AllSettings): CacheValues {
  return {
    settings: settings?.value,
    policies: new Map(policies.map(({ id, value }) => [id, value])),
    distributions: new Map(distributions.map(({ id, value }) => [id, value])),
  }
}

/** Ids of the webhooks that there will be. */
export const idsOf = (change: WebhookChange | undefined): ReadonlySet<string> =>
  new Set(change?.after.map(({ id }) => id))

export const nextHead = (head: Stored<{ changes: number }> | undefined) => ({ changes: (head?.value.changes ?? 0) + 1 })

/** The document to store. Another plugin keeps its webhooks; it counts their changes, so that its ETag changes with them. */
export function withWebhooks(
  content: DistributionCacheContent,
  createdMs: number,
  stored: StoredDistributionCache | undefined,
  isWebhookChange: boolean,
): StoredDistributionCache {
  const changes = (stored?.webhookChanges ?? 0) + (isWebhookChange ? 1 : 0)
  return { ...content, distributionCreatedMs: createdMs, ...(changes > 0 && { webhookChanges: changes }) }
}

export function createSettingsChanges(
  store: StoreService,
  documents: CacheDocuments,
  normalizeKey: NormalizeKey,
): SettingsChanges {
  const { settings, policies, distributions, heads } = documents

  async function change(decide: (all: AllSettings) => MaybePromise<(tx: TransactionBuilder) => void>): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const head = await heads.get(headId)
      const apply = await decide(await readAll(documents))
      const seen = head === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: head.etag }
      try {
        await store.transaction(tx => {
          tx.put(heads, headId, nextHead(head), seen)
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

  return {
    listPolicies: () => everyDocument(policies),
    policy: async name => policies.get(name),
    putPolicy: (name, value, { isNew, ifMatch }) =>
      change(all => {
        const current = all.policies.find(({ id }) => id === name)
        requireCustom(name)
        if (isNew && current !== undefined) throw cacheErrors.already_exists(`There is a cache policy ${name} already.`)
        if (!isNew && current === undefined) throw noPolicy(name)
        requirePolicyRoom(all.policies.length + (isNew ? 1 : 0))
        requirePolicy(value)
        return tx => tx.put(policies, name, value, conditionsOf(current, ifMatch))
      }),
    deletePolicy: (name, ifMatch) =>
      change(all => {
        requireCustom(name)
        const current = all.policies.find(({ id }) => id === name)
        if (current === undefined) throw noPolicy(name)
        requireUnused(name, valuesOf(all))
        return tx => tx.delete(policies, name, conditionsOf(current, ifMatch))
      }),
    settings: async () => settings.get(clusterId),
    putSettings: (decide, ifMatch) =>
      change(all => {
        const value = decide(all.settings?.value ?? defaultSettings)
        requireSettings(value, valuesOf(all))
        return tx => tx.put(settings, clusterId, value, conditionsOf(all.settings, ifMatch))
      }),
    async distribution({ id, createdMs }) {
      const found = await distributions.get(id)
      return found?.value.distributionCreatedMs === createdMs ? found : undefined
    },
    putDistribution: (distribution, value, ifMatch, webhooks) =>
      change(async all => {
        const { id, createdMs } = distribution
        const stored = all.distributions.find(one => one.id === id)
        const isFormer = stored !== undefined && stored.value.distributionCreatedMs !== createdMs
        const warmed = new Set(isFormer ? [] : stored?.value.warmOnWrite)
        requireDistribution(distribution, value, valuesOf(all), normalizeKey, pattern => warmed.has(pattern))
        const conditions = isFormer ? { ifMatch: stored.etag } : conditionsOf(stored, ifMatch)
        if (isFormer && (ifMatch ?? unsetEtag) !== unsetEtag) throw cacheErrors.precondition_failed()
        const told = await webhooks?.()
        requireWebhooks(distribution, value, idsOf(told))
        const document = withWebhooks(value, createdMs, isFormer ? undefined : stored?.value, told?.isChange === true)
        return tx => {
          tx.put(distributions, id, document, conditions)
          told?.apply(tx)
        }
      }),
    async tidy(isGone) {
      for (const { id, value, etag } of await everyDocument(distributions)) {
        if (!(await isGone(id, value.distributionCreatedMs))) continue
        // A distribution with the same id may have been created meanwhile: then the document is another one.
        await change(() => tx => tx.delete(distributions, id, { ifMatch: etag })).catch(error => {
          if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
        })
      }
    },
    commit: fill => change(() => fill),
  }
}

function conditionsOf(current: Stored<unknown> | undefined, ifMatch: string | undefined): Preconditions {
  const isOther = ifMatch !== undefined && ifMatch !== (current?.etag ?? unsetEtag)
  if (isOther && (current === undefined || ifMatch !== '*')) throw cacheErrors.precondition_failed()
  return current === undefined ? { ifNoneMatch: '*' } : { ifMatch: current.etag }
}
