/** The changes of all kinds for one transaction, each checked against all documents as they will be then. */
import type { CacheChanges, CacheDocumentsService, StagedCache, StagedDocuments } from 'svc/plugins/cache/api'
import type {
  DistributionInput,
  DistributionsService,
  SaverRights,
  StagedDistributions,
} from 'svc/plugins/distributions/api'
import type { KeyGroupContent, KeyGroupEditor, KeyGroupInput, KeyGroupsService } from 'svc/plugins/key-groups/api'
import type { TransactionBuilder } from 'svc/plugins/store/api'
import type { KindName } from './kinds.ts'
import { type OpenedDistribution, openedBy } from './opened.ts'

export type Content = Readonly<Record<string, unknown>>

export interface StagingServices {
  readonly distributions: Pick<DistributionsService, 'document' | 'stage'>
  readonly keyGroups: Pick<KeyGroupsService, 'list' | 'prepare'>
  readonly cacheDocuments: CacheDocumentsService
}

/** Wanted documents by kind and name; `null` removes one. */
export type Wanted = Readonly<Record<KindName, ReadonlyMap<string, Content | null>>>

export const nothingWanted: Wanted = {
  KeyGroup: new Map(),
  CachePolicy: new Map(),
  CacheSettings: new Map(),
  Distribution: new Map(),
  DistributionCache: new Map(),
}

export interface Staged {
  readonly kinds: Readonly<Record<KindName, StagedDocuments<Content>>>
  /** The buckets of distributions as they will be. */
  readonly buckets: ReadonlyMap<string, string>
  readonly warnings: StagedDistributions['warnings']
  /** Sentences about private keys, by the name of the key group. */
  readonly keyWarnings: ReadonlyMap<string, readonly string[]>
  readonly opened: readonly OpenedDistribution[]
  apply(tx: TransactionBuilder): void
}

export async function stage(services: StagingServices, wanted: Wanted, rights: SaverRights): Promise<Staged> {
  const { distributions, cacheDocuments } = services
  const groupsWanted = wanted.KeyGroup as ReadonlyMap<string, KeyGroupInput | null>
  const sites = await distributions.stage({
    ...rights,
    wanted: wanted.Distribution as ReadonlyMap<string, DistributionInput | null>,
    keyGroupChange: id => (groupsWanted.has(id) ? groupsWanted.get(id) !== null : undefined),
  })
  const groups = await stageKeyGroups(services, groupsWanted, sites, rights.keyGroupEditor)
  const cache = await cacheDocuments.stage({
    policies: wanted.CachePolicy as CacheChanges['policies'],
    settings: (wanted.CacheSettings.get('cluster') ?? undefined) as CacheChanges['settings'],
    distributions: wanted.DistributionCache as CacheChanges['distributions'],
    sites: sites.after,
  })
  return {
    kinds: {
      KeyGroup: groups,
      CachePolicy: contents(cache.policies),
      CacheSettings: contents(cache.settings),
      Distribution: siteContents(distributions, sites, wanted),
      DistributionCache: contents(cache.distributions),
    },
    buckets: new Map([...sites.after].map(([id, { origin }]) => [id, origin.bucket])),
    warnings: sites.warnings,
    keyWarnings: groups.warnings,
    opened: openedBy(sites),
    apply(tx) {
      sites.apply(tx)
      for (const apply of groups.applies) apply(tx)
      cache.apply(tx)
    },
  }
}

const contents = (staged: StagedCache[keyof Omit<StagedCache, 'apply'>]): StagedDocuments<Content> =>
  staged as unknown as StagedDocuments<Content>

function siteContents(
  { document }: StagingServices['distributions'],
  { before, after, changed, errors }: StagedDistributions,
  { Distribution: wanted }: Wanted,
): StagedDocuments<Content> {
  const content = (distribution: Parameters<typeof document>[0]): Content => {
    const { id: _id, ...fields } = document(distribution)
    return fields
  }
  const kept = [...after].filter(([id]) => wanted.has(id))
  return {
    before: new Map([...before].map(([id, distribution]) => [id, content(distribution)])),
    after: new Map(kept.map(([id, distribution]) => [id, content(distribution)])),
    changed,
    errors,
  }
}

async function stageKeyGroups(
  { keyGroups }: StagingServices,
  wanted: ReadonlyMap<string, KeyGroupInput | null>,
  sites: StagedDistributions,
  editor: KeyGroupEditor,
) {
  const before = new Map<string, Content>()
  const after = new Map<string, Content>()
  const changed = new Set<string>()
  const errors = new Map<string, Error>()
  const warnings = new Map<string, readonly string[]>()
  const applies: ((tx: TransactionBuilder) => void)[] = []
  for (const [id, input] of wanted) {
    const usedBy = sites.keyGroupUsers(id).map(name => ({ name, bucket: sites.after.get(name)!.origin.bucket }))
    try {
      const prepared = await keyGroups.prepare(id, input, { usedBy, editor })
      if (prepared.before !== undefined) before.set(id, keyGroupContent(prepared.before))
      if (prepared.after !== undefined) after.set(id, keyGroupContent(prepared.after))
      if (prepared.isChange) {
        changed.add(id)
        warnings.set(id, privateKeyWarnings(prepared))
      }
      applies.push(prepared.apply)
    } catch (error) {
      if (!isRefusal(error)) throw error
      errors.set(id, error)
    }
  }
  return { before, after, changed, errors, warnings, applies }
}

/** No export has private keys: those that go are not brought back by one, and those that come have none. */
function privateKeyWarnings({
  before,
  after,
}: {
  readonly before?: KeyGroupContent
  readonly after?: KeyGroupContent
}) {
  const [former, next] = [before?.keys ?? [], after?.keys ?? []]
  const within = (keys: KeyGroupContent['keys'], { id }: { readonly id: string }) => keys.some(key => key.id === id)
  return [
    ...former
      .filter(key => key.hasPrivateKey && !within(next, key))
      .map(key => `the private key of ${nameOf(key)} goes for ever: no export has it.`),
    ...next
      .filter(key => !key.hasPrivateKey && !within(former, key))
      .map(key => `this server has no private key of ${nameOf(key)}: it can verify signed links, and make none.`),
  ]
}

const nameOf = ({ id, name }: KeyGroupContent['keys'][number]): string => (name === '' ? id : `${name} (${id})`)

const isRefusal = (error: unknown): error is Error => Number((error as { readonly status?: number }).status) < 500

/** Private keys are not exported; ids and algorithms follow from the public keys. */
export const keyGroupContent = ({ comment, keys }: KeyGroupContent): Content => ({
  comment,
  keys: keys.map(({ name, publicKey, enabled, allowSha1 }) => ({ name, publicKey, enabled, allowSha1 })),
})
