/** Stages changes of many cache documents for one transaction. Each is checked against all documents as they will be. */
import { isCatalogError, type MaybePromise } from 'svc/kernel'
import { passAll } from 'svc/plugins/admin/api'
import type { Distribution } from 'svc/plugins/distributions/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import { canonicalJson } from 'svc/plugins/sealing/api'
import type { Collection, TransactionBuilder } from 'svc/plugins/store/api'
import {
  describeDistribution,
  describePolicy,
  describeSettings,
  readPolicyInput,
  readSettings,
} from '../admin/schemas.ts'
import type {
  CacheChanges,
  CacheDocumentsService,
  CachePolicyInput,
  CacheSettingsInput,
  CacheWebhooks,
  DistributionCacheInput,
  StagedDocuments,
  WebhookChange,
  WebhookDocument,
} from '../api.ts'
import { cacheErrors } from '../errors.ts'
import { type AllSettings, idsOf, nextHead, readAll, type Stored, valuesOf, withWebhooks } from './changes.ts'
import {
  type CacheValues,
  type DistributionCacheContent,
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
} from './documents.ts'

type Apply = (tx: TransactionBuilder) => void

interface Kind<Content> extends StagedDocuments<Content> {
  readonly before: Map<string, Content>
  readonly after: Map<string, Content>
  readonly changed: Set<string>
  readonly errors: Map<string, Error>
}

const kind = <Content>(): Kind<Content> => ({
  before: new Map(),
  after: new Map(),
  changed: new Set(),
  errors: new Map(),
})

async function attempt(errors: Map<string, Error>, name: string, work: () => MaybePromise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isCatalogError(error) || error.status >= 500) throw error
    errors.set(name, error)
  }
}

export function createCacheStaging(
  documents: CacheDocuments,
  webhooks: () => CacheWebhooks | undefined,
  normalizeKey: NormalizeKey,
): CacheDocumentsService['stage'] {
  return async changes => {
    const head = await documents.heads.get(headId)
    const stage = new Stage(documents, await readAll(documents), changes, webhooks(), normalizeKey)
    await stage.stagePolicies()
    await stage.stageSettings()
    await stage.stageDistributions()
    await stage.requireUnusedPolicies()
    const { staged, steps } = stage
    return {
      ...staged,
      apply(tx) {
        const seen = head === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: head.etag }
        if (steps.length === 0) tx.require(documents.heads, headId, seen)
        else tx.put(documents.heads, headId, nextHead(head), seen)
        for (const step of steps) step(tx)
      },
    }
  }
}

/** The documents as they will be, kind by kind: settings name policies, and distributions name both. */
class Stage {
  readonly steps: Apply[] = []
  readonly staged = {
    policies: kind<CachePolicyInput>(),
    settings: kind<CacheSettingsInput>(),
    distributions: kind<DistributionCacheInput>(),
  }
  readonly #documents: CacheDocuments
  readonly #all: AllSettings
  readonly #changes: CacheChanges
  readonly #keeper: CacheWebhooks | undefined
  readonly #normalizeKey: NormalizeKey
  readonly #policies: Map<string, StoredPolicy>
  readonly #sites: Map<string, StoredDistributionCache>
  #settings: StoredSettings | undefined

  constructor(
    documents: CacheDocuments,
    all: AllSettings,
    changes: CacheChanges,
    keeper: CacheWebhooks | undefined,
    normalizeKey: NormalizeKey,
  ) {
    const { policies, distributions, settings } = valuesOf(all)
    this.#documents = documents
    this.#all = all
    this.#changes = changes
    this.#keeper = keeper
    this.#normalizeKey = normalizeKey
    this.#policies = new Map(policies)
    this.#sites = new Map([...distributions].filter(([id, value]) => isOf(changes.sites.get(id), value)))
    this.#settings = settings
  }

  async stagePolicies(): Promise<void> {
    const { before, after, changed, errors } = this.staged.policies
    for (const stored of this.#all.policies) before.set(stored.id, policyContent(stored.id, stored.value))
    for (const [name, input] of this.#changes.policies) {
      await attempt(errors, name, () => {
        requireCustom(name)
        const stored = this.#all.policies.find(({ id }) => id === name)
        const value = input === null ? undefined : readPolicyInput(input)
        if (value === undefined) this.#policies.delete(name)
        else {
          requirePolicy(value)
          this.#policies.set(name, value)
          requirePolicyRoom(this.#policies.size)
          after.set(name, policyContent(name, value))
        }
        if (isSame(stored?.value, value)) return
        changed.add(name)
        this.#write(this.#documents.policies, name, value, stored)
      })
    }
  }

  async stageSettings(): Promise<void> {
    const { before, after, changed, errors } = this.staged.settings
    const stored = this.#all.settings
    if (stored !== undefined) before.set(clusterId, settingsContent(stored.value))
    const wanted = this.#changes.settings && readSettings(this.#changes.settings)(stored?.value ?? defaultSettings)
    if (wanted === undefined) return
    this.#settings = wanted
    after.set(clusterId, settingsContent(wanted))
    await attempt(errors, clusterId, () => {
      requireSettings(wanted, this.#values())
      if (isSame(stored?.value, wanted)) return
      changed.add(clusterId)
      this.#write(this.#documents.settings, clusterId, wanted, stored)
    })
  }

  async stageDistributions(): Promise<void> {
    const { before, errors } = this.staged.distributions
    for (const { id, value } of this.#all.distributions) {
      const site = this.#changes.sites.get(id)
      if (site === undefined || !isOf(site, value)) continue
      before.set(id, siteContent(id, contentOf(value), (await this.#keeper?.webhooks(site)) ?? []))
    }
    for (const [id, input] of this.#changes.distributions) {
      await attempt(errors, id, () => this.#stageDistribution(id, input))
    }
  }

  /** Of those that are removed: after everything that may name them. */
  async requireUnusedPolicies(): Promise<void> {
    for (const [name, input] of this.#changes.policies) {
      if (input === null) await attempt(this.staged.policies.errors, name, () => requireUnused(name, this.#values()))
    }
  }

  async #stageDistribution(id: string, input: DistributionCacheInput | null): Promise<void> {
    const site = this.#changes.sites.get(id)
    const found = this.#all.distributions.find(one => one.id === id)
    // The settings of a distribution are removed after it is gone.
    if (site === undefined && input === null) return
    if (site === undefined) throw cacheErrors.distribution_not_found(`There is no distribution ${id}.`)
    const stored = found !== undefined && isOf(site, found.value) ? found : undefined
    const content = input === null ? undefined : contentOf(input)
    const told = await this.#checkDistribution(site, input, content, stored?.value)
    const isTold = told?.isChange === true
    const { after, changed } = this.staged.distributions
    if (content === undefined) this.#sites.delete(id)
    else {
      after.set(id, siteContent(id, content, told?.after ?? []))
      this.#sites.set(id, withWebhooks(content, site.createdMs, stored?.value, isTold))
    }
    if (!isTold && isSame(stored && contentOf(stored.value), content)) return
    changed.add(id)
    this.#write(this.#documents.distributions, id, this.#sites.get(id), found)
    if (told !== undefined) this.steps.push(tx => told.apply(tx))
  }

  /** Resolves with the change of its webhooks. */
  async #checkDistribution(
    site: Distribution,
    input: DistributionCacheInput | null,
    content: DistributionCacheContent | undefined,
    stored: StoredDistributionCache | undefined,
  ): Promise<WebhookChange | undefined> {
    const warmed = new Set(stored?.warmOnWrite)
    const keeper = this.#keeper
    const asked = (input?.webhooks ?? []) as readonly WebhookDocument[]
    if (keeper === undefined && asked.length > 0)
      throw cacheErrors.not_implemented('/webhooks: the plugin purge, which tells webhooks, is not loaded.')
    let prepared: WebhookChange | undefined
    await passAll([
      () => {
        if (content === undefined) return
        requireDistribution(site, content, this.#values(), this.#normalizeKey, pattern => warmed.has(pattern))
      },
      async () => {
        prepared = await keeper?.prepare(site, asked)
      },
    ])
    if (content !== undefined) requireWebhooks(site, content, idsOf(prepared))
    return prepared
  }

  #values(): CacheValues {
    return { settings: this.#settings, policies: this.#policies, distributions: this.#sites }
  }

  #write<T>(collection: Collection<T>, name: string, value: T | undefined, stored: Stored<T> | undefined): void {
    const condition = stored === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: stored.etag }
    this.steps.push(tx => {
      if (value === undefined) tx.delete(collection, name, condition)
      else tx.put(collection, name, value, condition)
    })
  }
}

/** Whether the settings are of this distribution, not of a former one with the same id. */
const isOf = (site: Distribution | undefined, value: StoredDistributionCache): boolean =>
  site?.createdMs === value.distributionCreatedMs

const isSame = (before: unknown, after: unknown): boolean =>
  before === undefined || after === undefined ? before === after : canonicalJson(before) === canonicalJson(after)

const contentOf = ({
  cache = {},
  domains = [],
  behaviors = [],
  warmOnWrite = [],
}: Partial<DistributionCacheContent>): DistributionCacheContent => ({ cache, domains, behaviors, warmOnWrite })

const unstored = { etag: '', sequence: 0, modifiedMs: 0 }

function policyContent(id: string, value: StoredPolicy): CachePolicyInput {
  const { builtin: _builtin, updatedAt: _at, etag: _etag, ...content } = describePolicy({ id, value, ...unstored })
  return content
}

function settingsContent(value: StoredSettings): CacheSettingsInput {
  const { cache, nodeHeader, debug } = describeSettings({ id: clusterId, value, ...unstored })
  return { cache, nodeHeader, debug }
}

function siteContent(
  id: string,
  content: DistributionCacheContent,
  webhooks: readonly WebhookDocument[],
): DistributionCacheInput {
  const value = { ...content, distributionCreatedMs: 0 }
  const { cache, domains, behaviors, warmOnWrite, ...read } = describeDistribution(
    id,
    { id, value, ...unstored },
    webhooks,
  )
  return { cache, domains, behaviors, webhooks: read.webhooks, warmOnWrite }
}
