/** What jobs have looked at: a part of the storage, which that of another job may cover. */
import type { StoredHealJob } from './admin/heal-schema.ts'

/**
 * How many records these jobs have counted at least. Those with no record in common add up; of those that may have counted the same
 * records, the greater number is taken: that of a job over more, or the sum of those over parts of it. Where scopes overlap there may be more.
 */
export function countOverScopes(jobs: readonly StoredHealJob[], countOf: (job: StoredHealJob) => number): number {
  const widestFirst = [...jobs].sort((a, b) => widthOrder(a) - widthOrder(b))
  const within = new Map<StoredHealJob | undefined, StoredHealJob[]>()
  for (const [index, job] of widestFirst.entries()) {
    // The narrowest of the wider ones: whatever is within none of the same is apart from each other.
    const around = widestFirst.slice(0, index).findLast(wider => haveCommon(wider, job))
    within.set(around, [...(within.get(around) ?? []), job])
  }
  const sumWithin = (around: StoredHealJob | undefined): number =>
    (within.get(around) ?? []).reduce((sum, job) => sum + Math.max(countOf(job), sumWithin(job)), 0)
  return sumWithin(undefined)
}

/** Less for more: everything first, then what belongs to no bucket, then buckets, then ever longer prefixes; of the same, with what is below it first. */
const widthOrder = ({ request: { bucket, prefix = '', recursive } }: StoredHealJob): number => {
  const width = bucket === undefined ? -1 : prefix.length
  return recursive === true ? width - 0.5 : width
}

/** Whether some record may be in the scope of both. `wider` has no longer prefix. */
function haveCommon({ request: wider }: StoredHealJob, { request: other }: StoredHealJob): boolean {
  // Without a bucket and not recursive: no objects.
  if (wider.bucket === undefined) return wider.recursive === true || other.bucket === undefined
  const { prefix = '' } = wider
  const { prefix: longer = '' } = other
  if (wider.bucket !== other.bucket || !longer.startsWith(prefix)) return false
  return wider.recursive === true || !longer.includes('/', prefix.length)
}
