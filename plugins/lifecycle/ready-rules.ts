/**
 * Rules made ready: what is due at a time. As on AWS, days count from the midnight (UTC) after what begins them, so that with one day
 * an object lives for more than 24 and at most 48 hours. All decisions are by whole days, as the index of due times is.
 */
import type { DueEntry, DueKind, DueRange, Tags } from 'svc/plugins/objects/api'
import { hasSize, type LifecycleRule, type Predicates, predicatesOf } from './rules.ts'

/** A day as the index of due times has it. */
export const indexDayMs = 86_400_000
/** The last day that dates in headers and documents can hold; rules of two thousand million days are taken, as on AWS. */
const lastDueMs = Date.UTC(9999, 11, 31)

interface ReadyRule {
  readonly id: string
  readonly predicates: Predicates
  /** The last day that is due then; undefined for none yet. */
  lastDay(nowMs: number): number | undefined
  /** When what began on a day is due, in milliseconds since 1970. */
  dueMs(day: number): number
  /** Noncurrent versions that are kept. */
  readonly newer: number
}

export interface DueMatch {
  readonly dueMs: number
  readonly needsTags: boolean
  readonly newerMin: number
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
  /** What has to be looked at. */
  ranges(kind: DueKind, nowMs: number): readonly DueRange[]
  /** Undefined for what has to stay. */
  match(entry: DueEntry, nowMs: number): DueMatch | undefined
  /** When a newest version written then will go; undefined for never. */
  expirationOf(version: {
    readonly key: string
    readonly modifiedMs: number
    readonly sizeBytes: number
    readonly tags?: Tags
  }): Expiration | undefined
  /** When an upload begun then will be aborted. */
  abortionOf(key: string, startedMs: number): Expiration | undefined
}

/** `dayMs`: how long a day of rules is; shorter than a real one where rules are rehearsed. */
export function readyRules(rules: readonly LifecycleRule[], dayMs = indexDayMs): ReadyRules {
  const make = rulesOfDays(dayMs)
  const byKind: Readonly<Record<DueKind, readonly ReadyRule[]>> = {
    current: rules.flatMap(make.current),
    noncurrent: rules.flatMap(make.noncurrent),
    marker: rules.flatMap(make.marker),
    upload: rules.flatMap(make.upload),
  }
  const isReal = dayMs === indexDayMs
  const ofVersions = [...byKind.current, ...byKind.noncurrent, ...byKind.marker]
  const earliest = (kind: DueKind, startMs: number, applies: (rule: ReadyRule) => boolean): Expiration | undefined => {
    const day = Math.floor(startMs / dayMs)
    let first: Expiration | undefined
    for (const rule of byKind[kind]) {
      if (!applies(rule)) continue
      const dueMs = rule.dueMs(day)
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
        // The index knows real days alone: of shorter ones all are looked at.
        return [{ prefix: rule.predicates.prefix, lastDay: isReal ? lastDay : Math.floor(nowMs / indexDayMs) }]
      }),
    match(entry, nowMs) {
      const day = isReal ? entry.day : Math.floor(entry.sinceMs / dayMs)
      for (const rule of byKind[entry.kind]) {
        const lastDay = rule.lastDay(nowMs)
        if (lastDay === undefined || day > lastDay || entry.newerCount < rule.newer) continue
        if (!fits(rule.predicates, entry)) continue
        const needsTags = rule.predicates.tags.length > 0
        return { dueMs: rule.dueMs(day), needsTags, newerMin: rule.newer }
      }
      return undefined
    },
    expirationOf: version =>
      earliest('current', version.modifiedMs, ({ predicates }) =>
        fits(predicates, { ...version, isDeleteMarker: false }),
      ),
    abortionOf: (key, startedMs) =>
      earliest('upload', startedMs, ({ predicates }) => key.startsWith(predicates.prefix)),
  }
}

/** A delete marker has neither tags nor a size: rules that ask for either are not for it. */
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

function rulesOfDays(dayMs: number) {
  const today = (nowMs: number) => Math.floor(nowMs / dayMs)
  const afterDays = (days: number) => ({
    lastDay: (nowMs: number) => today(nowMs) - days - 1,
    dueMs: (day: number) => Math.min((day + days + 1) * dayMs, lastDueMs),
  })
  /** At a date everything is due that is there, and what is written later at the next midnight. */
  const fromDate = (dateMs: number) => ({
    lastDay: (nowMs: number) => (nowMs < dateMs ? undefined : today(nowMs) - 1),
    dueMs: (day: number) => Math.max(dateMs, (day + 1) * dayMs),
  })
  const base = (rule: LifecycleRule) => ({ id: rule.id, predicates: predicatesOf(rule), newer: 0 })
  const current = (rule: LifecycleRule): ReadyRule[] => {
    const { days, dateMs } = rule.expiration ?? {}
    if (!rule.enabled) return []
    if (days !== undefined) return [{ ...base(rule), ...afterDays(days) }]
    return dateMs === undefined ? [] : [{ ...base(rule), ...fromDate(dateMs) }]
  }
  return {
    current,
    /** A rule that expires objects also removes the delete markers that are left of them, by the same age. */
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
