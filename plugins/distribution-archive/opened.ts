/** The distributions that show something to everybody after an import, and did not show it as they do then. */
import { type Distribution, isPublicWebsite, type StagedDistributions } from 'svc/plugins/distributions/api'
import { canonicalJson } from 'svc/plugins/sealing/api'

export interface OpenedDistribution {
  readonly name: string
  readonly bucket: string
  readonly pathPrefix: string
  readonly aliases: readonly string[]
}

export function openedBy({ before, after, changed }: StagedDistributions): OpenedDistribution[] {
  return [...changed].flatMap(name => {
    const [former, next] = [before.get(name), after.get(name)]
    if (next === undefined || !isShown(next)) return []
    if (former !== undefined && isShown(former) && shownOf(former) === shownOf(next)) return []
    const { origin, aliases } = next
    return [{ name, bucket: origin.bucket, pathPrefix: origin.pathPrefix, aliases }]
  })
}

/** An error page is shown to those who are refused. */
function isShown(distribution: Distribution): boolean {
  const { enabled, mode, errorPages } = distribution
  return enabled && (isPublicWebsite(distribution) || (mode === 'website' && errorPages.length > 0))
}

/** What decides what is shown, and to whom. */
function shownOf({ origin, defaultBehavior, behaviors, restrictions, errorPages }: Distribution): string {
  return canonicalJson({ origin, defaultBehavior, behaviors, restrictions, errorPages })
}
