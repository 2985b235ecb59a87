/** Stages changes of many cache documents for one transaction. Each is checked against all documents as they will be. */
import { isCatalogError, type MaybePromise } from 'svc/kernel'
import { passAll } from 'svc/plugins/admin/api'
import type { Distribution } from 'svc/plugins/distributions/api'
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
import { idsOf, nextHead, readAll, type Stored, valuesOf, withWebhooks } from './changes.ts'
import {
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
): CacheDocumentsService['stage'] {
  return async changes => {
    const head = await documents.heads.get(headId)
    const all = await readAll(documents)
    const after = valuesOf(all)
    const policies = new Map(after.policies)
    const sites = new Map([...after.distributions].filter(([id, value]) => isOf(changes.sites.get(id), value)))
    let settings = after.settings
    const steps: Apply[] = []
    const staged = {
      policies: kind<CachePolicyInput>(),
      settings: kind<CacheSettingsInput>(),
      distributions: kind<DistributionCacheInput>(),
    }

    function write<T>(collection: Collection<T>, name: string, value: T | undefined, stored: Stored<T> | undefined) {
      const condition = stored === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: stored.etag }
      steps.push(tx => {
        if (value === undefined) tx.delete(collection, name, condition)
        else tx.put(collection, name, value, condition)
      })
    }

    for (const stored of all.policies) staged.policies.before.set(stored.id, policyContent(stored.id, stored.value))
    for (const [name, input] of changes.policies) {
      await attempt(staged.policies.errors, name, () => {
        requireCustom(name)
        const stored = all.policies.find(({ id }) => id === name)
        const value = input === null ? undefined : readPolicyInput(input)
        if (value === undefined) policies.delete(name)
        else {
          requirePolicy(value)
          policies.set(name, value)
          requirePolicyRoom(policies.size)
          staged.policies.after.set(name, policyContent(name, value))
        }
        if (isSame(stored?.value, value)) return
        staged.policies.changed.add(name)
        write(documents.policies, name, value, stored)
      })
    }

    if (all.settings !== undefined) staged.settings.before.set(clusterId, settingsContent(all.settings.value))
    const wanted = changes.settings && readSettings(changes.settings)(all.settings?.value ?? defaultSettings)
    if (wanted !== undefined) {
      settings = wanted
      staged.settings.after.set(clusterId, settingsContent(wanted))
      await attempt(staged.settings.errors, clusterId, () => {
        requireSettings(wanted, { settings, policies, distributions: sites })
        if (isSame(all.settings?.value, wanted)) return
        staged.settings.changed.add(clusterId)
        write(documents.settings, clusterId, wanted, all.settings)
      })
    }

    const keeper = webhooks()
    async function stageDistribution(id: string, input: DistributionCacheInput | null): Promise<void> {
      const site = changes.sites.get(id)
      const found = all.distributions.find(one => one.id === id)
      // The settings of a distribution are removed after it is gone.
      if (site === undefined && input === null) return
      if (site === undefined) throw cacheErrors.distribution_not_found(`There is no distribution ${id}.`)
      const stored = found !== undefined && isOf(site, found.value) ? found : undefined
      const content = input === null ? undefined : contentOf(input)
      const asked = (input?.webhooks ?? []) as readonly WebhookDocument[]
      if (keeper === undefined && asked.length > 0)
        throw cacheErrors.not_implemented('/webhooks: the plugin purge, which tells webhooks, is not loaded.')
      let prepared: WebhookChange | undefined
      await passAll([
        () => {
          if (content !== undefined) requireDistribution(site, content, { settings, policies, distributions: sites })
        },
        async () => {
          prepared = await keeper?.prepare(site, asked)
        },
      ])
      const told = prepared
      if (content !== undefined) requireWebhooks(site, content, idsOf(told))
      const isTold = told?.isChange === true
      if (content === undefined) sites.delete(id)
      else {
        staged.distributions.after.set(id, siteContent(id, content, told?.after ?? []))
        sites.set(id, withWebhooks(content, site.createdMs, stored?.value, isTold))
      }
      if (!isTold && isSame(stored && contentOf(stored.value), content)) return
      staged.distributions.changed.add(id)
      write(documents.distributions, id, sites.get(id), found)
      if (told !== undefined) steps.push(tx => told.apply(tx))
    }

    for (const { id, value } of all.distributions) {
      const site = changes.sites.get(id)
      if (site === undefined || !isOf(site, value)) continue
      staged.distributions.before.set(id, siteContent(id, contentOf(value), (await keeper?.webhooks(site)) ?? []))
    }
    for (const [id, input] of changes.distributions) {
      await attempt(staged.distributions.errors, id, () => stageDistribution(id, input))
    }
    for (const [name, input] of changes.policies) {
      if (input !== null) continue
      await attempt(staged.policies.errors, name, () =>
        requireUnused(name, { settings, policies, distributions: sites }),
      )
    }
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
