/**
 * Compiled rules: they decide whether a version is due at a time. As on AWS, days count from the midnight (UTC) after their start, so that
 * with one day an object exists for more than 24 and at most 48 hours. All decisions are by whole days, like the index of due times.
 */
import type { DueEntry, DueKind, DueRange, Tags } from 'svc/plugins/objects/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import { hasSize, type LifecycleRule, type Predicates, predicatesOf } from './rules.ts'

/** The length of a day in the index of due times. */
export const indexDayMs = 86_400_000
/** The last day that headers and documents can represent; rules of two thousand million days are accepted, as on AWS. */
const lastDueMs = Date.UTC(9999, 11, 31)

interface ReadyRule {
  readonly id: string
  readonly predicates: Predicates
  /** The last start day that is due at this time; undefined if none is. */
  lastDay(nowMs: number): number | undefined
  /** When a version with this start day is due, in milliseconds since 1970. */
  dueMs(day: number): number
  /** Number of newer noncurrent versions that must exist. */
  readonly newer: number
}

export interface DueMatch {
  readonly dueMs: number
  readonly needsTags: boolean
  readonly newerMin: number
}

export interface Due {
  readonly dueMs: number
  /** Number of newer noncurrent versions that must exist. */
  readonly newer: number
}

export interface Expiration {
  readonly ruleId: string
  /** A midnight, milliseconds since 1970. */
  readonly dueMs: number
}

export interface ReadyRules {
  /** Whether versions must be in the index of due times. */
  readonly needsIndex: boolean
  /** Whether entries of uploads are matched by their exact times. */
  readonly needsTimes: boolean
  readonly needsTags: boolean
  readonly newerMax: number
  /** The ranges of the index with entries that may be due. */
  ranges(kind: DueKind, nowMs: number): readonly DueRange[]
  /** The match of an entry that is due; undefined if it must stay. */
  match(entry: DueEntry, nowMs: number): DueMatch | undefined
  /** When an entry will be due: by each rule that applies to it, once there are so many newer noncurrent versions. */
  duesOf(entry: DueEntry): readonly Due[]
  /** When a newest version that was written then will expire; undefined for never. */
  expirationOf(version: {
    readonly key: string
    readonly modifiedMs: number
    readonly sizeBytes: number
    readonly tags?: Tags
  }): Expiration | undefined
  /** When an upload that was begun then will be aborted. */
  abortionOf(key: string, startedMs: number): Expiration | undefined
}

/** `dayMs`: the length of a day of rules; shorter than a real day only for tests. */
export function readyRules(
  rules: readonly LifecycleRule[],
  normalizeKey: NormalizeKey,
  dayMs = indexDayMs,
): ReadyRules {
  const make = rulesOfDays(dayMs, normalizeKey)
  const byKind: Readonly<Record<DueKind, readonly ReadyRule[]>> = {
    current: rules.flatMap(make.current),
    noncurrent: rules.flatMap(make.noncurrent),
    marker: rules.flatMap(make.marker),
    upload: rules.flatMap(make.upload),
  }
  const isReal = dayMs === indexDayMs
  const dayOf = ({ day, sinceMs }: DueEntry) => (isReal ? day : Math.floor(sinceMs / dayMs))
  const ofVersions = [...byKind.current, ...byKind.noncurrent, ...byKind.marker]
  const earliest = (kind: DueKind, startMs: number, applies: (rule: ReadyRule) => boolean): Expiration | undefined => {
    const day = Math.floor(startMs / dayMs)
    let first: Expiration | undefined
    for (const rule of byKind[kind]) {
      if (!applies(rule)) continue
      const dueMs = Math.min(rule.dueMs(day), lastDueMs)
      if (first === undefined || dueMs < first.dueMs) first = { ruleId: rule.id, dueMs }
    }
    return first
  }
  return {
    needsIndex: ofVersions.length > 0,
    needsTimes: !isReal,
    needsTags: ofVersions.some(rule => rule.predicates.tags.length > 0),
    newerMax: Math.max(0, ...byKind.noncurrent.map(rule => rule.newer)),
    ranges: (kind, nowMs) =>
      byKind[kind].flatMap(rule => {
        const lastDay = rule.lastDay(nowMs)
        if (lastDay === undefined) return []
        // The index has real days only: with shorter ones, all entries are evaluated.
        return [{ prefix: rule.predicates.prefix, lastDay: isReal ? lastDay : Math.floor(nowMs / indexDayMs) }]
      }),
    match(entry, nowMs) {
      const day = dayOf(entry)
      for (const rule of byKind[entry.kind]) {
        const lastDay = rule.lastDay(nowMs)
        if (lastDay === undefined || day > lastDay || entry.newerCount < rule.newer) continue
        if (!fits(rule.predicates, entry)) continue
        const needsTags = rule.predicates.tags.length > 0
        return { dueMs: rule.dueMs(day), needsTags, newerMin: rule.newer }
      }
      return undefined
    },
    duesOf(entry) {
      const day = dayOf(entry)
      return byKind[entry.kind]
        .filter(({ predicates }) => fits(predicates, entry))
        .map(({ dueMs, newer }) => ({ dueMs: dueMs(day), newer }))
    },
    expirationOf: version =>
      earliest('current', version.modifiedMs, ({ predicates }) =>
        fits(predicates, { ...version, isDeleteMarker: false }),
      ),
    abortionOf: (key, startedMs) =>
      earliest('upload', startedMs, ({ predicates }) => key.startsWith(predicates.prefix)),
  }
}

/** A delete marker has neither tags nor a size: rules that require them do not apply to it. */
function fits(
  predicates: Predicates,
  version: {
    key: string
    sizeBytes: number
    isDeleteMarker: boolean
    tags?: Tags | undefined
  },
): boolean {
  const { prefix, tags, sizeGreaterThan, sizeLessThan } = predicates
  if (!version.key.startsWith(prefix)) return false
  if (tags.length === 0 && !hasSize(predicates)) return true
  if (version.isDeleteMarker) return false
  if (sizeGreaterThan !== undefined && version.sizeBytes <= sizeGreaterThan) return false
  if (sizeLessThan !== undefined && version.sizeBytes >= sizeLessThan) return false
  return tags.every(({ key, value }) => version.tags?.get(key) === value)
}

function rulesOfDays(dayMs: number, normalizeKey: NormalizeKey) {
  const today = (nowMs: number) => Math.floor(nowMs / dayMs)
  const afterDays = (days: number) => ({
    lastDay: (nowMs: number) => today(nowMs) - days - 1,
    dueMs: (day: number) => (day + days + 1) * dayMs,
  })
  /** From the date on, all existing versions are due, and later ones at the midnight after they were written. */
  const fromDate = (dateMs: number) => ({
    lastDay: (nowMs: number) => (nowMs < dateMs ? undefined : today(nowMs) - 1),
    dueMs: (day: number) => Math.max(dateMs, (day + 1) * dayMs),
  })
  const base = (rule: LifecycleRule) => {
    const predicates = predicatesOf(rule)
    return { id: rule.id, predicates: { ...predicates, prefix: normalizeKey(predicates.prefix) }, newer: 0 }
  }
  const current = (rule: LifecycleRule): ReadyRule[] => {
    const { days, dateMs } = rule.expiration ?? {}
    if (!rule.enabled) return []
    if (days !== undefined) return [{ ...base(rule), ...afterDays(days) }]
    return dateMs === undefined ? [] : [{ ...base(rule), ...fromDate(dateMs) }]
  }
  return {
    current,
    /** A rule that expires objects also removes the delete markers that remain of them, by the same age. */
    marker(rule: LifecycleRule): ReadyRule[] {
      const byAge = current(rule)
      if (byAge.length > 0) {
        return byAge.filter(({ predicates }) => predicates.tags.length === 0 && !hasSize(predicates))
      }
      if (!rule.enabled || rule.expiration?.expiredObjectDeleteMarker !== true) return []
      return [{ ...base(rule), lastDay: today, dueMs: day => day * dayMs }]
    },
    noncurrent(rule: LifecycleRule): ReadyRule[] {
      if (!rule.enabled || rule.noncurrentExpiration === undefined) return []
      const { noncurrentDays, newerNoncurrentVersions = 0 } = rule.noncurrentExpiration
      return [{ ...base(rule), ...afterDays(noncurrentDays), newer: newerNoncurrentVersions }]
    },
    upload(rule: LifecycleRule): ReadyRule[] {
      if (!rule.enabled || rule.abortIncompleteUpload === undefined) return []
      return [{ ...base(rule), ...afterDays(rule.abortIncompleteUpload.daysAfterInitiation) }]
    },
  }
}
