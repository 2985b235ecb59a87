/**
 * What the rules do to what a bucket has now, until a time: what has become of each version after a run now, one at each midnight (UTC) until
 * then, and one then. What a run does counts for the next ones: an object that gets a delete marker is an old version from then on. The new
 * delete markers themselves are not counted as deleted, nor is what is written meanwhile foreseen.
 *
 * Every version is looked at, not only those in the index of due times: rules that are not stored have no index, and what a later run finds
 * depends on all versions of a key. They come newest first, and what happens to one depends only on newer ones, so that few are remembered.
 */
import type { Bucket, DueEntry, DueKind, ObjectLock, ObjectsService } from 'svc/plugins/objects/api'
import { eachInTurns, isProtecting } from 'svc/plugins/objects/api'
import type { LifecycleRunResult } from './api.ts'
import { createRangeSearch } from './range-search.ts'
import { indexDayMs, type ReadyRules } from './ready-rules.ts'

export interface PreviewOptions {
  readonly objects: ObjectsService
  readonly bucket: string
  readonly rules: ReadyRules | undefined
  /** The length of a day of rules. */
  readonly dayMs: number
  readonly nowMs: number
  /** The last run. One in the past is the only one. */
  readonly atMs: number
  /** Nobody waits for the result any more. */
  isGone(): boolean
}

/** A time that does not come. */
const never = Number.POSITIVE_INFINITY

type Counts = { -readonly [Name in keyof LifecycleRunResult]: LifecycleRunResult[Name] }

export async function previewRuns(options: PreviewOptions): Promise<LifecycleRunResult> {
  const { objects, bucket, rules, atMs, isGone } = options
  const counts = { buckets: 0, versions: 0, deleted: 0, deleteMarkers: 0, replaced: 0, uploadsAborted: 0, locked: 0 }
  const { versioning } = await objects.getBucket(bucket)
  if (rules === undefined) return counts
  counts.buckets = 1
  /** Each page in a turn of the event loop of its own. */
  const eachPage = async (read: (after: Buffer | undefined) => Promise<Buffer | undefined>) => {
    for (let after: Buffer | undefined; !isGone(); ) {
      after = await read(after)
      if (after === undefined) return
      await new Promise(resolve => setImmediate(resolve))
    }
  }
  if (rules.needsIndex) {
    const keys = createKeys({ ...options, rules, versioning }, counts)
    await eachPage(async after => {
      const page = await objects.listAges({ bucket, after, withTags: rules.needsTags, withLocks: true })
      await eachInTurns(page.entries, keys.next)
      return page.next
    })
    keys.end()
  }
  const ranges = rules.ranges('upload', atMs)
  if (ranges.length > 0) {
    await eachPage(async after => {
      const page = await objects.listDue({ bucket, kind: 'upload', ranges, after, withTimes: rules.needsTimes })
      await eachInTurns(page.entries, entry => {
        if (rules.match(entry, atMs) !== undefined) counts.uploadsAborted++
      })
      return page.next
    })
  }
  return counts
}

/** What is known of a key while its versions come, newest first. */
interface Key {
  readonly newest: DueEntry
  /** When it is deleted or replaced, or gets a delete marker. */
  readonly expiredMs: number
  /** When it becomes an old version: from the next run on it is one. */
  readonly olderMs: number
  /** When it goes for good. */
  readonly goneMs: number
  replacesNull: boolean
  /** When the last of the older versions goes, for good. */
  othersGoneMs: number
  /** When older versions that came so far go: the latest times, in descending order, as many as a rule counts newer ones. */
  readonly latest: number[]
}

interface KeyOptions extends PreviewOptions {
  readonly rules: ReadyRules
  readonly versioning: Bucket['versioning']
}

function createKeys({ rules, dayMs, nowMs, atMs, versioning }: KeyOptions, counts: Counts) {
  const firstMs = Math.min(nowMs, atMs)
  const isSuspended = versioning === 'suspended'
  const searches: Partial<Record<DueKind, ReturnType<typeof createRangeSearch>>> = {}
  /** Whether a rule may apply until the end. */
  const isOld = ({ kind, key, day }: DueEntry): boolean => {
    searches[kind] ??= createRangeSearch(rules.ranges(kind, atMs))
    return searches[kind](key, day)
  }
  /** The first run from this time on. */
  const runFrom = (ms: number): number => {
    if (ms <= firstMs) return firstMs
    if (ms > atMs) return never
    return Math.min(Math.ceil(ms / dayMs) * dayMs, atMs)
  }
  const runAfter = (ms: number): number => runFrom(ms + 1)
  /** The first run at which the version is due, and not locked until then. */
  const firstRun = (entry: DueEntry, unlockedMs = 0): number => {
    let first = never
    for (const { dueMs } of rules.duesOf(entry)) first = Math.min(first, runFrom(Math.max(dueMs, unlockedMs)))
    return first
  }
  const isLocked = ({ lock }: DueEntry) => lock !== undefined && isProtecting(lock, atMs)

  const begin = (newest: DueEntry): Key => {
    const key = { newest, replacesNull: false, othersGoneMs: 0, latest: [] }
    const none = { expiredMs: never, olderMs: never, goneMs: never }
    if (newest.kind !== 'current') return { ...key, ...none }
    const isDue = isOld(newest)
    if (isDue) counts.versions++
    const dueMs = isDue ? firstRun(newest) : never
    if (dueMs > atMs) return { ...key, ...none }
    if (versioning === 'off' || (isSuspended && newest.isNull)) {
      // Nothing is left to be an old version, so that a lock keeps it where it is.
      const goneMs = firstRun(newest, unlockedFrom(newest.lock))
      return { ...key, ...none, expiredMs: dueMs, goneMs }
    }
    const older: DueEntry = { ...newest, kind: 'noncurrent', day: Math.floor(dueMs / indexDayMs), sinceMs: dueMs }
    // No old version is newer.
    const dues = rules.duesOf(older).filter(({ newer }) => newer === 0)
    const unlockedMs = unlockedFrom(newest.lock)
    const goneMs = Math.min(never, ...dues.map(due => runFrom(Math.max(due.dueMs, unlockedMs))))
    return { ...key, expiredMs: dueMs, olderMs: dueMs, goneMs }
  }

  /** The first run from this one on at which there are so many newer ones among the old versions. They become fewer, but for the newest one. */
  const whenNewer = ({ latest, olderMs, goneMs }: Key, runMs: number, count: number): number => {
    const last = (wanted: number) => (wanted === 0 ? never : (latest[wanted - 1] ?? Number.NEGATIVE_INFINITY))
    if (runMs <= last(count)) return runMs
    const laterMs = Math.max(runMs, runAfter(olderMs))
    return laterMs <= Math.min(goneMs, last(count - 1)) ? laterMs : never
  }

  const older = (key: Key, entry: DueEntry): void => {
    let goneMs = never
    if (isOld(entry)) {
      counts.versions++
      let dueMs = never
      const unlockedMs = unlockedFrom(entry.lock)
      for (const due of rules.duesOf(entry)) {
        dueMs = Math.min(dueMs, whenNewer(key, runFrom(due.dueMs), due.newer))
        goneMs = Math.min(goneMs, whenNewer(key, runFrom(Math.max(due.dueMs, unlockedMs)), due.newer))
      }
      if (goneMs > atMs && dueMs <= atMs && isLocked(entry)) counts.locked++
    }
    if (isSuspended && entry.isNull && key.olderMs < goneMs) {
      // The delete marker takes its place: it is the null version then.
      key.replacesNull = true
      goneMs = key.olderMs
    } else if (goneMs <= atMs) counts.deleted++
    key.othersGoneMs = Math.max(key.othersGoneMs, goneMs)
    const { latest } = key
    const place = latest.findIndex(ms => ms < goneMs)
    latest.splice(place < 0 ? latest.length : place, 0, goneMs)
    if (latest.length > rules.newerMax) latest.pop()
  }

  const finish = ({ newest, expiredMs, olderMs, goneMs, replacesNull, othersGoneMs }: Key): void => {
    if (newest.kind === 'marker') {
      // In the run that removes the last version below it.
      if (othersGoneMs > atMs || !isOld(newest)) return
      counts.versions++
      if (Math.max(firstRun(newest), othersGoneMs) <= atMs) counts.deleted++
      return
    }
    if (expiredMs > atMs) return
    const isGone = goneMs <= atMs
    if (!isGone && isLocked(newest)) counts.locked++
    if (olderMs <= atMs) {
      if (isGone) counts.deleted++
      // Each object once: as one that stays below a delete marker, or as one that is gone.
      if (!isGone || replacesNull) counts.deleteMarkers++
      if (replacesNull) counts.replaced++
    } else if (isGone && versioning !== 'off') {
      counts.deleteMarkers++
      counts.replaced++
    } else if (isGone) counts.deleted++
  }

  let present: Key | undefined
  return {
    next(entry: DueEntry): void {
      if (entry.kind === 'noncurrent') {
        if (present?.newest.key === entry.key) older(present, entry)
        return
      }
      if (present !== undefined) finish(present)
      present = begin(entry)
    },
    end(): void {
      if (present !== undefined) finish(present)
    },
  }
}

/** From when on a lock lets the version go. */
function unlockedFrom(lock: ObjectLock | undefined): number {
  if (lock === undefined) return 0
  if (lock.legalHold === true) return never
  const untilMs = lock.retention?.retainUntilMs ?? 0
  return Number.isNaN(untilMs) ? never : untilMs
}
