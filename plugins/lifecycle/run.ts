/**
 * One run of a bucket's rules, in slices. Candidates come from the index of due times. The decision whether a rule removes a candidate is
 * made from its record, and checked again in the commit that removes it. A run can therefore end at any point and be repeated:
 * removed versions are no longer in the index, the others still are.
 *
 * Noncurrent versions come first, because a delete marker may be the only version after them. Of one key the oldest version comes first,
 * so that removals do not change the number of newer versions on which later decisions depend.
 */
import { isCatalogError } from 'svc/kernel'
import type { ChangeOrigin, DueEntry, DueKind, Expiry, ExpiryOutcome, ObjectsService } from 'svc/plugins/objects/api'
import { noTags } from 'svc/plugins/objects/api'
import type { LifecycleRunResult } from './api.ts'
import type { Configurations, Ready } from './configurations.ts'

/** Versions that are removed in one commit: it blocks other commits for half a millisecond. */
const expiriesPerCommit = 64
/** Uploads that are aborted at the same time. */
const abortsAtOnce = 8
/** The name of AWS in events. */
const origin: ChangeOrigin = { principalId: 's3.lifecycle', sourceAddress: '', requestId: '', userAgent: '' }
const kinds: readonly DueKind[] = ['noncurrent', 'marker', 'current', 'upload']

export type LifecycleAction =
  | 'expire-current'
  | 'expire-noncurrent'
  | 'create-delete-marker'
  | 'remove-delete-marker'
  | 'abort-upload'
  | 'keep-locked'

export interface RunOptions {
  readonly objects: ObjectsService
  readonly configurations: Configurations
  readonly bucket: string
  now(): number
  onAction?(action: LifecycleAction): void
}

export interface LifecycleRun {
  readonly bucket: string
  /** Runs the next slice; resolves with whether it was the last. Rejects if the bucket was deleted. */
  step(): Promise<boolean>
  readonly result: LifecycleRunResult
  /** How long ago the candidates of the last slice became due, in milliseconds. */
  readonly lagMs: number
}

export function createRun({ objects, configurations, bucket, now, onAction }: RunOptions): LifecycleRun {
  const startMs = now()
  const result = { buckets: 0, versions: 0, deleted: 0, deleteMarkers: 0, replaced: 0, uploadsAborted: 0, locked: 0 }
  let rules: Ready | undefined
  /** Progress of adding existing versions to the index. */
  let building: { readonly since: number; after: Buffer | undefined } | undefined
  let kindIndex = 0
  let after: Buffer | undefined
  let lagMs = 0

  const begin = async (): Promise<boolean> => {
    rules = await configurations.ready.get(bucket)
    const index = await matchIndex(objects, bucket, rules)
    if (rules === undefined) return true
    result.buckets = 1
    if (index !== undefined && !index.isComplete) building = { since: index.since, after: undefined }
    return false
  }

  const buildOn = async (work: NonNullable<typeof building>): Promise<boolean> => {
    work.after = await objects.indexDue(bucket, work.after)
    if (work.after !== undefined) return false
    await objects.changeBucket(bucket, { dueIndex: { completeSince: work.since } })
    building = undefined
    return false
  }

  /** Rules that were replaced must not remove anything more; the new rules get their own run. */
  const isCurrent = async () => (await configurations.ready.get(bucket))?.etag === rules!.etag

  const count = (kind: Expiry['kind'], outcome: ExpiryOutcome) => {
    if (outcome === 'changed') return
    if (outcome === 'deleted') {
      result.deleted++
      onAction?.(kind === 'marker' ? 'remove-delete-marker' : `expire-${kind}`)
      return
    }
    if (outcome !== 'kept') {
      result.deleteMarkers++
      onAction?.('create-delete-marker')
    }
    if (outcome === 'replaced') result.replaced++
    if (outcome === 'kept' || outcome === 'marked-locked') {
      result.locked++
      onAction?.('keep-locked')
    }
  }

  const abort = async ({ key, uploadId }: DueEntry) => {
    try {
      await objects.abortUpload(bucket, key, uploadId)
      result.uploadsAborted++
      onAction?.('abort-upload')
    } catch (error) {
      // The client has ended the upload first.
      if (!isCatalogError(error) || error.code !== 'NoSuchUpload') throw error
    }
  }

  const act = async (entries: readonly DueEntry[]): Promise<boolean> => {
    const expiries: Expiry[] = []
    const uploads: DueEntry[] = []
    for (const entry of entries) {
      const match = rules!.match(entry, startMs)
      if (match === undefined) continue
      lagMs = Math.max(lagMs, now() - match.dueMs)
      if (entry.kind === 'upload') uploads.push(entry)
      else expiries.push(toExpiry(entry.kind, entry, match))
    }
    for (let from = 0; from < expiries.length; from += expiriesPerCommit) {
      if (!(await isCurrent())) return false
      const some = expiries.slice(from, from + expiriesPerCommit)
      const outcomes = await objects.expire(bucket, some, origin)
      for (const [i, outcome] of outcomes.entries()) count(some[i]!.kind, outcome)
    }
    for (let from = 0; from < uploads.length; from += abortsAtOnce) {
      if (!(await isCurrent())) return false
      await Promise.all(uploads.slice(from, from + abortsAtOnce).map(abort))
    }
    return true
  }

  return {
    bucket,
    result,
    get lagMs() {
      return lagMs
    },
    async step() {
      lagMs = 0
      if (rules === undefined) return begin()
      if (building !== undefined) return buildOn(building)
      const kind = kinds[kindIndex]
      if (kind === undefined) return true
      const ranges = rules.ranges(kind, startMs)
      if (ranges.length > 0) {
        const { needsTags: withTags, needsTimes: withTimes, newerMax } = rules
        const page = await objects.listDue({ bucket, kind, ranges, after, withTags, withTimes, newerMax })
        if (kind !== 'upload') result.versions += page.entries.length
        if (!(await act(page.entries))) return true
        after = page.next
        if (after !== undefined) return false
      }
      after = undefined
      kindIndex++
      return kindIndex === kinds.length
    },
  }
}

function toExpiry(
  kind: Expiry['kind'],
  { key, sequence, tags }: DueEntry,
  { needsTags, newerMin }: { needsTags: boolean; newerMin: number },
): Expiry {
  return {
    kind,
    key,
    sequence,
    ...(needsTags ? { tags: tags ?? noTags } : undefined),
    ...(newerMin > 0 ? { newerMin } : undefined),
  }
}

/** Enables or disables the bucket's index of due times, depending on its rules. */
async function matchIndex(objects: ObjectsService, bucket: string, rules: Ready | undefined) {
  const { dueIndex } = await objects.getBucket(bucket)
  const needsIndex = rules?.needsIndex === true
  if (needsIndex === (dueIndex !== undefined)) return dueIndex
  return (await objects.changeBucket(bucket, { dueIndex: needsIndex ? 'on' : 'off' })).dueIndex
}
