/** Cache policies and settings in the archive of the cluster. */
import { isCatalogError } from 'svc/kernel'
import type { AfterImport, ArchivePart, PartProblem } from 'svc/plugins/cluster-archive/api'
import type { DistributionsService } from 'svc/plugins/distributions/api'
import { type Collection, everyDocument } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import {
  type CachedDistribution,
  type FindPolicy,
  requireClusterLevel,
  requireCustom,
  requireDistributionLevels,
  requirePolicy,
  type SettingsChanges,
} from './changes.ts'
import {
  type CacheDocuments,
  clusterId,
  defaultSettings,
  StoredDistributionCache,
  StoredPolicy,
  StoredSettings,
} from './documents.ts'
import { readPolicy } from './fields.ts'

const ArchivedDistribution = Type.Omit(StoredDistributionCache, ['distributionCreatedMs', 'webhookChanges'], {
  additionalProperties: false,
})
type ArchivedDistribution = Static<typeof ArchivedDistribution>

const name = { policies: 'cache-policy', settings: 'cache-settings', distributions: 'distribution-cache' } as const

export interface ArchivePartsOptions {
  readonly documents: CacheDocuments
  readonly changes: Pick<SettingsChanges, 'commit'>
  readonly distributions: Pick<DistributionsService, 'get'> | undefined
}

/** By their names. */
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
        requireClusterLevel(value, policiesOf(after))
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

/** Settings of distributions belong to the distribution that is there, and say when it was made. */
function distributionPart(
  { documents, changes }: ArchivePartsOptions,
  distributions: Pick<DistributionsService, 'get'>,
): ArchivePart<ArchivedDistribution> {
  const ownerOf = async (id: string) => (await distributions.get(id))?.createdMs
  return {
    schema: ArchivedDistribution,
    after: ['distribution', name.policies, name.settings],
    async read() {
      const found = new Map<string, ArchivedDistribution>()
      for (const { id, value } of await everyDocument(documents.distributions)) {
        const { distributionCreatedMs, webhookChanges: _, ...archived } = value
        if (distributionCreatedMs === (await ownerOf(id))) found.set(id, archived)
      }
      return found
    },
    problems(changed, after) {
      const cluster = (after.documents(name.settings)?.get(clusterId) as StoredSettings | undefined) ?? defaultSettings
      return problemsOf(changed, (id, value) => {
        const distribution = after.documents('distribution')?.get(id) as Omit<CachedDistribution, 'id'> | undefined
        if (distribution === undefined) throw new TypeError('is of no distribution')
        requireDistributionLevels(value, { ...distribution, id }, cluster.cache, policiesOf(after))
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

/** `look` throws where a document is wrong. */
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

const policiesOf = (after: AfterImport): FindPolicy => {
  const policies = after.documents(name.policies) as ReadonlyMap<string, StoredPolicy> | undefined
  return id => {
    const found = policies?.get(id)
    return found && readPolicy(found.policy)
  }
}

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
