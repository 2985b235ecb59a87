/** All documents that a caller may see, as they are stored. */
import type { DistributionsService, SaverRights } from 'svc/plugins/distributions/api'
import type { KeyGroup } from 'svc/plugins/key-groups/api'
import { type KindName, kindNames } from './kinds.ts'
import { type Content, keyGroupContent, nothingWanted, type StagingServices, stage } from './staging.ts'

/** Rights of the caller. */
export interface ArchiveRights extends SaverRights {
  /** Key groups; without it no distribution either. */
  readonly managesDistributions: boolean
  /** Policies and the settings of the cluster. */
  readonly managesCache: boolean
  /** The cache of distributions of this bucket. */
  mayCache(bucket: string): Promise<boolean>
}

export type StoredDocuments = Readonly<Record<KindName, ReadonlyMap<string, Content>>>

export interface StoredServices extends StagingServices {
  readonly distributions: Pick<DistributionsService, 'all' | 'document' | 'stage'>
}

export async function readStored(services: StoredServices, rights: ArchiveRights): Promise<StoredDocuments> {
  const { distributions, keyGroups } = services
  const found: Record<KindName, Map<string, Content>> = {
    KeyGroup: new Map(),
    CachePolicy: new Map(),
    CacheSettings: new Map(),
    Distribution: new Map(),
    DistributionCache: new Map(),
  }
  const { kinds } = await stage(services, nothingWanted, rights)
  const all = await distributions.all()
  for (const distribution of all) {
    const { bucket } = distribution.origin
    const { id, ...fields } = distributions.document(distribution)
    if (rights.managesDistributions && (await rights.mayManage(bucket))) found.Distribution.set(id, fields)
    const cache = kinds.DistributionCache.before.get(id)
    if (cache !== undefined && (await rights.mayCache(bucket))) found.DistributionCache.set(id, cache)
  }
  if (rights.managesDistributions) {
    let startAfter: string | undefined
    do {
      const page: { items: readonly KeyGroup[]; next: string | undefined } = await keyGroups.list({
        ...(startAfter !== undefined && { startAfter }),
        limit: 1000,
      })
      for (const group of page.items) {
        if (await rights.keyGroupEditor.mayEdit(group)) found.KeyGroup.set(group.id, keyGroupContent(group))
      }
      startAfter = page.next
    } while (startAfter !== undefined)
  }
  if (rights.managesCache) {
    for (const [name, content] of kinds.CachePolicy.before) {
      const { name: _name, ...fields } = content
      found.CachePolicy.set(name, fields)
    }
    for (const [name, content] of kinds.CacheSettings.before) found.CacheSettings.set(name, content)
  }
  for (const kind of kindNames) found[kind] = new Map([...found[kind]].sort(([a], [b]) => (a < b ? -1 : 1)))
  return found
}
