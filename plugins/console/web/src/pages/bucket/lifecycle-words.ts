/** A lifecycle rule in words: which objects, and what happens to them. */
import type { Answer } from '../../api/operations.ts'
import { formatBytes, formatDate } from '../../parts/format.ts'
import { lifecycleTexts } from '../../texts/lifecycle.ts'

export type LifecycleRules = Answer<'getBucketLifecycle'>['rules']
export type LifecycleRule = LifecycleRules[number]

const words = lifecycleTexts

/** What becomes of objects that a rule deletes. Undefined: one may not see whether the bucket keeps old versions. */
export const deletedObjects = (versioning: keyof typeof words.objectsDeleted = 'unknown'): string =>
  words.objectsDeleted[versioning]

export function lifecycleScope({ filter = {} }: LifecycleRule): string {
  const { prefix = '', tags, sizeGreaterThan, sizeLessThan } = filter
  const narrowings = [
    prefix !== '' && words.prefixIs(prefix),
    ...Object.entries((tags ?? {}) as Record<string, string>).map(([key, value]) => words.tagIs(key, value)),
    sizeGreaterThan !== undefined && words.largerThan(formatBytes(sizeGreaterThan)),
    sizeLessThan !== undefined && words.smallerThan(formatBytes(sizeLessThan)),
  ].filter(text => text !== false)
  return words.scope(narrowings)
}

/** The server gives a rule that was saved without a name an id of its own. */
export const isUnnamed = ({ id = '' }: LifecycleRule): boolean => /^([0-9a-f]{32})?$/.test(id)

/** Those of the rules that delete objects, old versions or delete markers which none of the stored ones deletes in the same way. */
export function deletingRules(rules: LifecycleRules, stored: LifecycleRules): LifecycleRules {
  const known = new Set(stored.filter(({ enabled }) => enabled).map(deletionOf))
  return rules.filter(rule => {
    const { enabled, expiration, noncurrentExpiration } = rule
    const { days, date, expiredObjectDeleteMarker = false } = expiration ?? {}
    const deletes =
      days !== undefined || date !== undefined || expiredObjectDeleteMarker || noncurrentExpiration !== undefined
    return enabled && deletes && !known.has(deletionOf(rule))
  })
}

/** Equal where the same is deleted at the same time. Values, because words round them. */
function deletionOf({ filter, expiration, noncurrentExpiration }: LifecycleRule): string {
  const { prefix = '', tags, sizeGreaterThan, sizeLessThan } = filter ?? {}
  const { days, date, expiredObjectDeleteMarker = false } = expiration ?? {}
  const { noncurrentDays, newerNoncurrentVersions = 0 } = noncurrentExpiration ?? {}
  return JSON.stringify([
    [prefix, Object.entries(tags ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)), sizeGreaterThan, sizeLessThan],
    [days, date === undefined ? undefined : Date.parse(date), expiredObjectDeleteMarker],
    [noncurrentDays, newerNoncurrentVersions],
  ])
}

/** `isKept`: the bucket keeps old versions. */
export function lifecycleEffects(rule: LifecycleRule, isKept = false): string[] {
  const { expiration, noncurrentExpiration, abortIncompleteUpload } = rule
  const { days, date } = expiration ?? {}
  return [
    days !== undefined && words.expires(days),
    date !== undefined && (Date.parse(date) < Date.now() ? words.expiredOn : words.expiresOn)(formatDate(date)),
    (days !== undefined || date !== undefined) && isKept && words.staysAsVersion,
    expiration?.expiredObjectDeleteMarker === true && words.lonelyMarkers,
    noncurrentExpiration !== undefined &&
      words.noncurrent(noncurrentExpiration.noncurrentDays, noncurrentExpiration.newerNoncurrentVersions ?? 0),
    abortIncompleteUpload !== undefined && words.uploads(abortIncompleteUpload.daysAfterInitiation),
  ].filter(effect => effect !== false)
}
