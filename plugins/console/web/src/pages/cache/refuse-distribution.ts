/** A distribution that is not there stands in a field of the form, and in the path of its request. */
import { atField } from '../../api/problem.ts'

export function refuseDistribution(error: unknown): never {
  throw atField(error, 'distribution_not_found', '/distribution')
}
