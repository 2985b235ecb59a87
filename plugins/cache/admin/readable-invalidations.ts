/** Which purges a caller may read: those of distributions on whose buckets it may purge or manage the cache. */
import { isCatalogError } from 'svc/kernel'
import type { AdminRequest } from 'svc/plugins/admin/api'
import type { PurgeFacts } from '../purge/purges.ts'
import { mayHit } from '../purge/selection.ts'
import type { CacheAdmin } from '../service.ts'
import { watch } from './schemas.ts'

/**
 * A purge of one distribution is that distribution's; one of all is of each distribution that it may hit now. A purge whose distribution
 * is gone has no bucket any more: it is readable for callers to whom nothing is denied.
 */
export async function readableBy(
  request: Pick<AdminRequest, 'authorize'>,
  cacheAdmin: Pick<CacheAdmin, 'distributions'>,
): Promise<(facts: PurgeFacts) => boolean> {
  const all = await cacheAdmin.distributions()
  const denied = new Set<string>()
  for (const bucket of new Set(all.map(({ origin }) => origin.bucket))) {
    if (!(await mayWatch(request, bucket))) denied.add(bucket)
  }
  if (denied.size === 0) return () => true
  const byId = new Map(all.map(distribution => [distribution.id, distribution]))
  const hidden = all.filter(({ origin }) => denied.has(origin.bucket))
  return ({ request: { distribution: id, ...selection } }) => {
    if (id === undefined) return !hidden.some(distribution => mayHit(distribution, selection))
    const distribution = byId.get(id)
    return distribution !== undefined && !denied.has(distribution.origin.bucket)
  }
}

async function mayWatch(request: Pick<AdminRequest, 'authorize'>, bucket: string): Promise<boolean> {
  try {
    await request.authorize(watch, { bucket })
    return true
  } catch (error) {
    if (isCatalogError(error) && error.code === 'access_denied') return false
    throw error
  }
}
