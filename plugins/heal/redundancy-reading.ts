/** How much of everything has all of its shards: figures of the ledger, and a verdict that is never better than what is known. */
import type { RedundancyReading, RedundancyService, RedundantStorage } from 'svc/plugins/erasure/api'
import { type SetSummary, summarizeSets } from 'svc/plugins/storage/api'
import type { Redundancy } from './admin/get-redundancy.ts'
import { currentPass, type DeepScans } from './deep-scan.ts'
import { healErrors } from './errors.ts'

export interface RedundancyReadingOptions {
  readonly redundancy: RedundancyService
  readonly scans: DeepScans
}

/** In the main thread. Throws `not_implemented` where the storage is no set. */
export async function readRedundancy({ redundancy, scans }: RedundancyReadingOptions): Promise<Redundancy> {
  const open = redundancy.storage()
  if (open === undefined) throw healErrors.not_implemented()
  // The drives first: one that fails afterwards is in the figures of the ledger.
  const summaries = summarizeSets(await open.drives())
  const readings = await Promise.all(open.sets.map(({ redundant }) => redundant.amounts()))
  const sets = open.sets.map(({ pool, set }, index) => {
    const { drives, online, healing, state } = summaries.find(each => each.pool === pool && each.set === set)!
    return { pool, set, drives, online, healing, state, ...amountsOf(readings[index]!) }
  })
  const sum = (name: keyof ReturnType<typeof amountsOf>) => sets.reduce((total, each) => total + each[name], 0)
  const total = {
    records: sum('records'),
    bytes: sum('bytes'),
    belowRecords: sum('belowRecords'),
    belowBytes: sum('belowBytes'),
  }
  const missing = whatIsMissing(open, summaries, total)
  const pass = await currentPass(scans)
  return {
    isFull: missing.length === 0,
    summary: missing.length === 0 ? 'Everything has all of its shards.' : missing.join(' '),
    ...total,
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

function amountsOf({ total, below }: RedundancyReading) {
  return { records: total.records, bytes: total.bytes, belowRecords: below.records, belowBytes: below.bytes }
}

function whatIsMissing(
  open: RedundantStorage,
  summaries: readonly SetSummary[],
  { records, belowRecords }: Pick<Redundancy, 'records' | 'belowRecords'>,
): string[] {
  const count = (name: 'drives' | 'online' | 'healing') => summaries.reduce((total, each) => total + each[name], 0)
  const away = count('drives') - count('online')
  const missing: string[] = []
  if (away > 0) missing.push(`${away} of ${count('drives')} drives cannot be read.`)
  if (count('healing') > 0)
    missing.push(`${count('healing')} of ${count('drives')} drives are being given what they lack.`)
  if (belowRecords > 0) {
    missing.push(`${belowRecords} of ${records} records lack a shard, or have one on a drive that is away.`)
  }
  if (open.damageCount > 0) missing.push(`${open.damageCount} damaged shards were found just now.`)
  if (missing.length === 0 && !open.isWhole) missing.push('A drive does not have all records yet.')
  return missing
}
