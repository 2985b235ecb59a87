/** The distributions that need a bucket: they serve it, or write their access log into it. The server does not delete it then. */
import type { Context } from '../context.ts'
import { CliError } from '../errors.ts'
import type { DistributionDocument } from './document.ts'

const shownMax = 5
/** Maximum number of distributions. */
const distributionsMax = 1000

/** Sentences about distributions that need the bucket. Also empty if the caller may not see distributions. */
export async function needsOf(context: Context, alias: string, bucket: string): Promise<readonly string[]> {
  const all = await distributions(context, alias)
  const served = all.filter(({ origin }) => origin.bucket === bucket)
  const logged = all.filter(
    ({ logging = {} }) => logging.accessLog === true && logging.target?.startsWith(`bucket:${bucket}/`) === true,
  )
  return [
    ...(served.length === 0
      ? []
      : [
          `${named(served, 'serves', 'serve')} this bucket. Remove what serves it first (\`svcctl dist remove\`), or give it another bucket.`,
        ]),
    ...(logged.length === 0
      ? []
      : [
          `${named(logged, 'writes its access log', 'write their access logs')} into this bucket. Give another logging.target to \`svcctl dist set\` first.`,
        ]),
  ]
}

async function distributions(context: Context, alias: string): Promise<readonly DistributionDocument[]> {
  try {
    const client = await context.connectAdmin(alias)
    const query = [['limit', String(distributionsMax)]] as const
    const { body } = await client.send({ operation: 'listDistributions', method: 'GET', path: '/distributions', query })
    return (body as { readonly items: readonly DistributionDocument[] }).items
  } catch (error) {
    if (error instanceof CliError) return []
    throw error
  }
}

function named(found: readonly DistributionDocument[], singular: string, plural: string): string {
  const names = found.slice(0, shownMax).map(({ id, aliases }) => `${id} (${aliases.slice(0, 3).join(', ')})`)
  const more = found.length - names.length
  const all = names.join(', ') + (more > 0 ? ` and ${more} others` : '')
  return found.length === 1 ? `The distribution ${all} ${singular}` : `The distributions ${all} ${plural}`
}
