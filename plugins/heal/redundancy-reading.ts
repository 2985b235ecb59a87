/**
 * Answers `getRedundancy`: how many records have all of their shards, by the ledger of each set, and a summary that says so only if nothing
 * is known to be missing.
 */
import { isCatalogError } from 'svc/kernel'
import type { PlacedSet, RedundancyReading, RedundancyService, RedundantStorage } from 'svc/plugins/erasure/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import { type SetSummary, type StorageService, summarizeSets } from 'svc/plugins/storage/api'
import type { Redundancy } from './admin/get-redundancy.ts'
import type { StoredHealJob } from './admin/heal-schema.ts'
import { currentPass, type DeepScans } from './deep-scan.ts'
import { healErrors } from './errors.ts'
import { foundByDryRun, lostByDryRun } from './found-records.ts'
import type { HealJobs } from './jobs.ts'
import { countLeft } from './left-records.ts'
import { countOverScopes } from './scopes.ts'
import { notSuperseded } from './superseded.ts'

export interface RedundancyReadingOptions {
  readonly redundancy: RedundancyService
  readonly scans: DeepScans
  readonly jobs: Pick<HealJobs, 'list'>
  readonly storage: Pick<StorageService, 'get'>
  readonly objects: Pick<ObjectsService, 'getBucket'>
}

/** In the main thread. Throws `not_implemented` on a single drive. */
export async function readRedundancy({
  redundancy,
  scans,
  jobs,
  storage,
  objects,
}: RedundancyReadingOptions): Promise<Redundancy> {
  const open = redundancy.storage()
  if (open === undefined) throw healErrors.not_implemented()
  // The drives first: if one fails after that, the ledger shows it.
  const summaries = summarizeSets(await open.drives())
  const readings = await Promise.all(open.sets.map(({ redundant }) => redundant.amounts()))
  const counts = open.sets.map(({ redundant }, index) => amountsOf(readings[index]!, redundant.failingCount))
  const sum = (name: keyof ReturnType<typeof amountsOf>) => counts.reduce((total, each) => total + each[name], 0)
  const total = {
    records: sum('records'),
    bytes: sum('bytes'),
    belowRecords: sum('belowRecords'),
    belowBytes: sum('belowBytes'),
    failingRecords: sum('failingRecords'),
  }
  const missing = shortfalls(open, summaries, total)
  const valid: StoredHealJob[] = []
  for (const job of notSuperseded(jobs.list())) if (await hasItsBucket(job, objects)) valid.push(job)
  const leftOf = new Map<StoredHealJob, number>()
  for (const job of valid) leftOf.set(job, await countLeft(job, storage))
  const found = countOverScopes(valid, foundByDryRun)
  const lost = countOverScopes(valid, lostByDryRun)
  const left = countOverScopes(valid, job => leftOf.get(job)!)
  const toldByJobs: string[] = []
  if (left > 0) {
    toldByJobs.push(`A heal job could not check or heal ${recordsOf(left)} still there: it lists what it has left.`)
  }
  if (found > 0) {
    toldByJobs.push(
      `A dry run has found ${recordsOf(found)} with missing or corrupt shards, which no job has healed since.${lostOf(lost, found, valid)}`,
    )
  }
  missing.push(...toldByJobs)
  const sets = open.sets.map((placed, index) => {
    const summary = summaries.find(({ pool, set }) => pool === placed.pool && set === placed.set)!
    const { pool, set, drives, online, healing, state } = summary
    const missingHere = shortfalls(placed.redundant, [summary], counts[index]!)
    // Of what a job has left nothing says in which set it is, and its counts are of all.
    const mayHaveFound = left > 0 || valid.some(job => foundByDryRun(job) > 0 && hasFoundIn(placed, job))
    if (mayHaveFound) {
      missingHere.push(
        ...(open.sets.length === 1
          ? toldByJobs
          : ['What a heal job has left or a dry run has found may be in this set.']),
      )
    }
    const isFull = missingHere.length === 0
    const hasFoundDamage = mayHaveFound || placed.redundant.foundShardCount > 0
    const place = { pool, set, drives, online, healing, state }
    return { ...place, isFull, hasFoundDamage, summary: missingHere.join(' '), ...counts[index]! }
  })
  const pass = await currentPass(scans)
  return {
    isFull: missing.length === 0,
    hasFoundDamage: toldByJobs.length > 0 || open.foundShardCount > 0,
    summary: missing.length === 0 ? 'Everything has all of its shards.' : missing.join(' '),
    ...total,
    lostRecords: lost,
    healed: open.counts.healed,
    failed: open.counts.failed,
    ...(pass === undefined
      ? undefined
      : {
          scrub: {
            startedAt: new Date(pass.startedMs).toISOString(),
            ...(pass.position === '' ? { endedAt: new Date(pass.finishedMs).toISOString() } : undefined),
            damaged: pass.damaged,
          },
        }),
    sets,
  }
}

function amountsOf({ total, below }: RedundancyReading, failingCount: number) {
  return {
    records: total.records,
    bytes: total.bytes,
    belowRecords: below.records,
    belowBytes: below.bytes,
    // What failed is remembered for some time, also of a record that has been written again since.
    failingRecords: Math.min(failingCount, below.records),
  }
}

/** Nothing is missing of a bucket that was deleted, and no job can look at it again. */
async function hasItsBucket({ request: { bucket } }: StoredHealJob, objects: Pick<ObjectsService, 'getBucket'>) {
  if (bucket === undefined) return true
  try {
    await objects.getBucket(bucket)
    return true
  } catch (error) {
    return !(isCatalogError(error) && error.code === 'NoSuchBucket')
  }
}

/** Whether some of what it has found may be in this set. */
function hasFoundIn({ pool, set }: Pick<PlacedSet, 'pool' | 'set'>, { drives }: StoredHealJob): boolean {
  const damaged = drives.filter(({ missing, corrupt }) => missing + corrupt > 0)
  return damaged.length === 0 || damaged.some(drive => drive.pool === pool && drive.set === set)
}

/** The end of the sentence about dry runs. */
function lostOf(lost: number, found: number, jobs: readonly StoredHealJob[]): string {
  if (lost === 0) return ''
  const isExact = jobs.every(job => lostByDryRun(job) === 0 || (job.found?.checked ?? 0) === 0)
  if (isExact && found === 1) return ' It is lost: the job lists it.'
  const [are, them] = lost === 1 ? ['is', 'it'] : ['are', 'them']
  return ` ${isExact ? '' : 'Up to '}${lost} of them ${are} lost: the job lists ${them}.`
}

/** As the console names them. */
const recordsOf = (count: number): string => `${count} ${count === 1 ? 'version or part' : 'versions and parts'}`

/** Of all sets, or of one. */
function shortfalls(
  open: Pick<RedundantStorage, 'unmarkedShardCount' | 'foundShardCount' | 'isWhole'>,
  summaries: readonly SetSummary[],
  { records, belowRecords, failingRecords }: Pick<Redundancy, 'records' | 'belowRecords' | 'failingRecords'>,
): string[] {
  const count = (name: 'drives' | 'online' | 'healing') => summaries.reduce((total, each) => total + each[name], 0)
  const away = count('drives') - count('online')
  const missing: string[] = []
  if (away > 0) missing.push(`${away} of ${count('drives')} drives cannot be read.`)
  const rebuilt = count('healing')
  if (rebuilt > 0)
    missing.push(`${rebuilt} of ${count('drives')} drives ${rebuilt === 1 ? 'is' : 'are'} being rebuilt.`)
  if (belowRecords > 0) {
    const lack = belowRecords === 1 ? 'lacks a shard, or has' : 'lack a shard, or have'
    missing.push(`${belowRecords} of ${recordsOf(records)} ${lack} one on an offline drive.`)
    if (failingRecords > 0) {
      missing.push(
        `${failingRecords} of them could not be healed in the last attempt, and may be lost: a heal job lists them.`,
      )
    }
  }
  if (open.foundShardCount > 0) missing.push('Missing or corrupt shards were found just now.')
  if (missing.length === 0 && open.unmarkedShardCount > 0)
    missing.push('A drive has come back just now, and has not been asked yet which shards it lacks.')
  if (missing.length === 0 && !open.isWhole) missing.push('A drive does not have all records yet.')
  return missing
}
