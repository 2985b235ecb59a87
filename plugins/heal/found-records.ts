/** Records that a dry run has found damaged: kept in its document, until a job that heals has checked them. */
import { placeOfRecord, recordRanges } from 'svc/plugins/objects/api'
import type { HealRequest, StoredHealJob } from './admin/heal-schema.ts'

/** Most records whose keys a job keeps; further ones count until a job over all that it has looked at has checked them. */
const foundMax = 200

/** Records that a dry run has found damaged, and that no job has checked since. */
export const foundByDryRun = ({ request, damaged, found }: StoredHealJob): number =>
  request.dryRun === true ? damaged - (found?.checked ?? 0) : 0

/** How many of those are lost, at most: what other jobs have checked since may have been among them. */
export const lostByDryRun = (job: StoredHealJob): number => Math.min(job.dangling, foundByDryRun(job))

export function addFound({ found }: StoredHealJob, key: Buffer): void {
  if (found !== undefined && found.keys.length < foundMax) found.keys.push(key.toString('base64'))
}

/** Takes those out that a job of this request visits. Returns whether there were any. */
export function takeFound({ found }: StoredHealJob, request: HealRequest): boolean {
  if (found === undefined) return false
  const kept = found.keys.filter(key => !visits(request, Buffer.from(key, 'base64')))
  const count = found.keys.length - kept.length
  found.keys = kept
  found.checked += count
  return count > 0
}

/** Whether a job of this request visits a record of this key. */
export function visits({ bucket, prefix = '', recursive = false }: HealRequest, record: Buffer): boolean {
  const { kind, key } = placeOfRecord(record)
  const isBelow = kind === 'object' || kind === 'upload'
  if (bucket === undefined) return recursive || !isBelow
  if (!recursive && isBelow && key.includes('/', prefix.length)) return false
  return recordRanges(bucket, prefix).some(([start, end]) => start.compare(record) <= 0 && record.compare(end) < 0)
}
