/** Cache policies and settings in the archive of the cluster. */
import { isCatalogError } from 'svc/kernel'
import type { AfterImport, ArchivePart, PartProblem } from 'svc/plugins/cluster-archive/api'
import type { Distribution, DistributionsService } from 'svc/plugins/distributions/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import { type Collection, everyDocument } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import type { SettingsChanges } from './changes.ts'
import {
  type CacheValues,
  requireCustom,
  requireDistribution,
  requirePolicy,
  requireSettings,
  requireWebhooks,
} from './checks.ts'
import { type CacheDocuments, clusterId, StoredDistributionCache, StoredPolicy, StoredSettings } from './documents.ts'
import { readPolicy } from './fields.ts'

const ArchivedDistribution = Type.Omit(StoredDistributionCache, ['distributionCreatedMs', 'webhookChanges'], {
  additionalProperties: false,
})
type ArchivedDistribution = Static<typeof ArchivedDistribution>

type CachedDistribution = Pick<Distribution, 'aliases' | 'behaviors'>

/** The archive part of the plugin that keeps webhooks; its ids are those of distributions. */
const webhookPart = 'purge-webhooks'
const name = { policies: 'cache-policy', settings: 'cache-settings', distributions: 'distribution-cache' } as const

export interface ArchivePartsOptions {
  readonly documents: CacheDocuments
  readonly changes: Pick<SettingsChanges, 'commit'>
  readonly distributions: Pick<DistributionsService, 'get'> | undefined
  readonly normalizeKey: NormalizeKey
}

/** The parts by their names. */
export function createArchiveParts(options: ArchivePartsOptions): ReadonlyMap<string, ArchivePart> {
  const { documents, changes, distributions } = options
  const policies: ArchivePart<StoredPolicy> = {
    schema: StoredPolicy,
    read: () => readAs(documents.policies, value => value),
    problems: changed =>
      problemsOf(changed, (id, value) => {
        requireCustom(id)
        readPolicy(value.policy)
        requirePolicy(value)
      }),
    ...writing(changes, documents.policies, async value => value),
  }
  const settings: ArchivePart<StoredSettings> = {
    schema: StoredSettings,
    after: [name.policies],
    read: () => readAs(documents.settings, value => value),
    problems: (changed, after) =>
      problemsOf(changed, (id, value) => {
        if (id !== clusterId) throw new TypeError(`is not ${clusterId}`)
        requireSettings(value, valuesOf(after))
      }),
    ...writing(changes, documents.settings, async value => value),
  }
  const parts = new Map<string, ArchivePart>([
    [name.policies, policies],
    [name.settings, settings],
  ])
  if (distributions !== undefined) parts.set(name.distributions, distributionPart(options, distributions))
  return parts
}

/** Cache settings of distributions: only those of existing distributions are archived. When stored they get the creation time of the distribution. */
function distributionPart(
  { documents, changes, normalizeKey }: ArchivePartsOptions,
  distributions: Pick<DistributionsService, 'get'>,
): ArchivePart<ArchivedDistribution> {
  const ownerOf = async (id: string) => (await distributions.get(id))?.createdMs
  return {
    schema: ArchivedDistribution,
    after: ['distribution', name.policies, name.settings, webhookPart],
    async read() {
      const found = new Map<string, ArchivedDistribution>()
      for (const { id, value } of await everyDocument(documents.distributions)) {
        const { distributionCreatedMs, webhookChanges: _, ...archived } = value
        if (distributionCreatedMs === (await ownerOf(id))) found.set(id, archived)
      }
      return found
    },
    problems(changed, after) {
      return problemsOf(changed, (id, value) => {
        const distribution = after.documents('distribution')?.get(id) as CachedDistribution | undefined
        if (distribution === undefined) throw new TypeError('is of no distribution')
        requireDistribution({ ...distribution, id }, value, valuesOf(after), normalizeKey, () => true)
        const kept = after.documents(webhookPart)?.get(id) as { webhooks: readonly { id: string }[] } | undefined
        requireWebhooks({ id }, value, new Set(kept?.webhooks.map(webhook => webhook.id)))
      })
    },
    ...writing(changes, documents.distributions, async (value, id) => {
      const distributionCreatedMs = await ownerOf(id)
      if (distributionCreatedMs === undefined) throw new Error(`the distribution ${id} is gone`)
      const before = (await documents.distributions.get(id))?.value
      const kept = before?.distributionCreatedMs === distributionCreatedMs ? before.webhookChanges : undefined
      return { ...value, distributionCreatedMs, ...(kept !== undefined && { webhookChanges: kept }) }
    }),
  }
}

async function readAs<Stored, Archived>(
  collection: Collection<Stored>,
  archived: (value: Stored) => Archived,
): Promise<ReadonlyMap<string, Archived>> {
  return new Map((await everyDocument(collection)).map(({ id, value }) => [id, archived(value)]))
}

/** `look` throws if a document is wrong. */
function problemsOf<Value>(
  changed: ReadonlyMap<string, Value>,
  look: (id: string, value: Value) => void,
): readonly PartProblem[] {
  return [...changed].flatMap(([element, value]) => {
    try {
      look(element, value)
      return []
    } catch (error) {
      if (!isCatalogError(error) && !(error instanceof TypeError)) throw error
      return [{ element, message: (error as Error).message }]
    }
  })
}

/** The settings and policies of the cache, as they will be after the import. */
const valuesOf = (after: AfterImport): CacheValues => ({
  settings: after.documents(name.settings)?.get(clusterId) as StoredSettings | undefined,
  policies: (after.documents(name.policies) as CacheValues['policies'] | undefined) ?? new Map(),
  distributions: new Map(),
})

function writing<Stored, Archived>(
  { commit }: Pick<SettingsChanges, 'commit'>,
  collection: Collection<Stored>,
  stored: (value: Archived, id: string) => Promise<Stored>,
): Pick<ArchivePart<Archived>, 'apply' | 'remove'> {
  const options = { overwriteUnreadable: true }
  return {
    async apply(changed, mayGoOn) {
      for (const [id, value] of changed) {
        await mayGoOn()
        const document = await stored(value, id)
        await commit(tx => tx.put(collection, id, document, options))
      }
    },
    async remove(ids, mayGoOn) {
      for (const id of ids) {
        await mayGoOn()
        await commit(tx => tx.delete(collection, id, options))
      }
    },
  }
}
