/** What operations on the cache of all distributions show: nothing of a distribution whose bucket the caller is denied. */
import { type AdminRequest, isAuthorized } from 'svc/plugins/admin/api'
import type { PurgeFacts } from '../purge/purges.ts'
import type { CacheAdmin } from '../service.ts'
import { watch } from './schemas.ts'

export interface VisibleDistributions {
  /** A deleted distribution is shown to callers who may watch all that exist. */
  shows(distribution: string): boolean
  /** All that exist. */
  readonly showsAll: boolean
  /** The same rule as for the request: a purge of all distributions needs the right on the bucket of each that it may hit. */
  showsPurge(facts: PurgeFacts): boolean
}

type Asking = Pick<AdminRequest, 'authorize'>

export async function visibleDistributions(
  request: Asking,
  { distributions, mayHit }: Pick<CacheAdmin, 'distributions' | 'mayHit'>,
): Promise<VisibleDistributions> {
  const all = await distributions()
  const buckets = new Map<string, boolean>()
  for (const bucket of new Set(all.map(({ origin }) => origin.bucket))) {
    buckets.set(bucket, await isAuthorized(request, watch, { bucket }))
  }
  const isShown = new Map(all.map(({ id, origin }) => [id, buckets.get(origin.bucket)!]))
  const showsAll = [...buckets.values()].every(shown => shown)
  const shows = (id: string): boolean => isShown.get(id) ?? showsAll
  return {
    shows,
    showsAll,
    showsPurge: ({ request: purge }) =>
      purge.distribution === undefined
        ? all.every(one => shows(one.id) || !mayHit(one, purge))
        : shows(purge.distribution),
  }
}
