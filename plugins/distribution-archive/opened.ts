/** The distributions that show something to everybody after an import, and did not show it as they do then. */
import { type Distribution, isPublicWebsite, type StagedDistributions } from 'svc/plugins/distributions/api'
import { canonicalJson } from 'svc/plugins/sealing/api'

export interface OpenedDistribution {
  readonly name: string
  readonly bucket: string
  readonly pathPrefix: string
  readonly aliases: readonly string[]
  readonly mode: Distribution['mode']
}

export function openedBy({ before, after, changed }: StagedDistributions): OpenedDistribution[] {
  return [...changed].flatMap(name => {
    const [former, next] = [before.get(name), after.get(name)]
    if (next === undefined || !isShown(next)) return []
    if (former !== undefined && isShown(former) && shownOf(former) === shownOf(next)) return []
    const { origin, aliases, mode } = next
    return [{ name, bucket: origin.bucket, pathPrefix: origin.pathPrefix, aliases, mode }]
  })
}

/** An error page is shown to those who are refused; an S3 endpoint shows what the bucket allows. */
function isShown(distribution: Distribution): boolean {
  const { enabled, mode, errorPages, defaultBehavior } = distribution
  if (mode === 's3') return enabled && (defaultBehavior.access ?? 'public') === 'public'
  return enabled && (isPublicWebsite(distribution) || errorPages.length > 0)
}

/** What decides what is shown, and to whom. */
function shownOf({ mode, origin, defaultBehavior, behaviors, restrictions, errorPages }: Distribution): string {
  return canonicalJson({ mode, origin, defaultBehavior, behaviors, restrictions, errorPages })
}
