/** Shared by the operations on purge webhooks. */
import type { Distribution, DistributionsService } from 'svc/plugins/distributions/api'
import { Type } from 'typebox'
import { purgeErrors } from '../errors.ts'

export const DistributionId = Type.String({ minLength: 1, maxLength: 64 })

export async function findDistribution(distributions: DistributionsService, id: string): Promise<Distribution> {
  const found = await distributions.get(id)
  if (found === undefined) throw purgeErrors.distribution_not_found(`There is no distribution "${id}".`)
  return found
}
