/** Shared by the operations on the cache settings of a distribution. */
import type { Distribution } from 'svc/plugins/distributions/api'
import type { CacheAdmin } from '../service.ts'
import { describeDistribution } from './schemas.ts'

export async function readDistributionCache({ settings, webhooks }: CacheAdmin, distribution: Distribution) {
  const stored = await settings.distribution(distribution)
  return describeDistribution(distribution.id, stored, (await webhooks()?.webhooks(distribution)) ?? [])
}
