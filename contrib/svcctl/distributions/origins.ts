/** The distributions that a bucket is the origin of. */
import type { Context } from '../context.ts'
import { CliError } from '../errors.ts'
import type { DistributionDocument } from './document.ts'

const shownMax = 5

/** Empty where that cannot be found out: a caller may remove buckets without seeing distributions. */
export async function distributionsOf(
  context: Context,
  alias: string,
  bucket: string,
): Promise<readonly DistributionDocument[]> {
  try {
    const client = await context.connectAdmin(alias)
    const query = [
      ['bucket', bucket],
      ['limit', '100'],
    ] as const
    const { body } = await client.send({ operation: 'listDistributions', method: 'GET', path: '/distributions', query })
    return (body as { readonly items: readonly DistributionDocument[] }).items
  } catch (error) {
    if (error instanceof CliError) return []
    throw error
  }
}

/** What a removal of the bucket does to them: a sentence. Undefined: there are none. */
export function servedBy(distributions: readonly DistributionDocument[]): string | undefined {
  if (distributions.length === 0) return undefined
  const names = distributions.slice(0, shownMax).map(({ id, aliases }) => `${id} (${aliases.slice(0, 3).join(', ')})`)
  const more = distributions.length - names.length
  const all = names.join(', ') + (more > 0 ? ` and ${more} others` : '')
  const one = distributions.length === 1
  return `${one ? 'The distribution' : 'The distributions'} ${all} ${one ? 'serves' : 'serve'} this bucket: without it visitors get 404.`
}
