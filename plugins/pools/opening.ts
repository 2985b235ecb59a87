/**
 * Opens the sets of a storage at a start: finds the record set, gives each set its number, adds new sets. A set is identified by its
 * own documents, never by the order of the arguments. Existing sets are opened first; new sets are created only if none is missing.
 *
 * A set is added in these steps, each on its write quorum before the next. It gets blobs only after the last.
 *
 * | Step | What a start finds if the server ended right after it |
 * |---|---|
 * | its drives are formatted, and have a set document | a set without a pools document and without records: it is new |
 * | its pools document names the record set | a set that is not listed: it is new |
 * | the record set lists it | a set of the storage |
 */
import type { Logger } from 'svc/kernel'
import type { DrivesService } from 'svc/plugins/drive/api'
import { type DriveSet, deploymentsProblem, sharedSetKey } from 'svc/plugins/erasure/api'
import { poolsErrors } from './errors.ts'
import {
  decodePoolsDocument,
  encodePoolsDocument,
  type ListedSet,
  type PoolsDocument,
  type RecordsDocument,
  recordsVersion,
} from './pools-document.ts'
import { procedure } from './procedures.ts'

/** One of the sets that were named. */
export interface Candidate {
  /** Position of its pool among the arguments. */
  readonly argument: number
  readonly paths: readonly string[]
  readonly set: DriveSet
  /** Known once the storage is open. 0: the record set. */
  number: number
}

export interface OpeningOptions {
  readonly candidates: readonly Candidate[]
  readonly drives: DrivesService
  readonly log: Logger
}

/** An open set. Numbers from 0; `set` within the pool. */
export interface PoolSet {
  readonly backend: DriveSet
  readonly number: number
  readonly pool: number
  readonly set: number
}

interface Opened {
  readonly candidate: Candidate
  readonly id: string
  readonly says: PoolsDocument | undefined
}

/** Resolves with the sets by number. If it rejects, no set is left open. */
export async function openPools(options: OpeningOptions): Promise<readonly PoolSet[]> {
  const started: Candidate[] = []
  try {
    return await open(options, started)
  } catch (error) {
    await Promise.all(started.map(({ set }) => set.stop()))
    throw error
  }
}

async function open({ candidates, drives, log }: OpeningOptions, started: Candidate[]) {
  const looks = await Promise.all(candidates.map(({ paths }) => Promise.all(paths.map(path => drives.look(path)))))
  const problem = deploymentsProblem(looks.flat())
  if (problem !== undefined) throw poolsErrors.pool_foreign(problem)
  const start = async (some: readonly Candidate[], deploymentId: string | undefined): Promise<Opened[]> => {
    const outcomes = await Promise.allSettled(some.map(({ set }) => set.start(deploymentId)))
    for (const [i, { status }] of outcomes.entries()) if (status === 'fulfilled') started.push(some[i]!)
    const failed = outcomes.find(outcome => outcome.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return Promise.all(some.map(look))
  }
  let known = candidates.filter((_, i) => looks[i]!.some(({ state }) => state === 'formatted'))
  let deploymentId = looks.flat().find(look => look.deploymentId !== undefined)?.deploymentId
  if (known.length === 0) {
    // The first start: the first set that was named becomes the record set.
    known = [candidates[0]!]
    await start(known, undefined)
    deploymentId = (await candidates[0]!.set.drives())[0]!.deploymentId
  } else await start(known, deploymentId)
  const opened = await Promise.all(known.map(look))
  const records = await recordsAmong(opened)
  const listed = listedBy(records)
  requireAll(listed, opened, records)
  // An interrupted first start has listed nothing, and stored nothing.
  if (records.says !== undefined || (await hasRecords(records))) requireSamePools(listed, opened, candidates)
  const added = candidates.filter(candidate => !known.includes(candidate))
  const isListed = ({ id }: Opened) => listed.some(({ setId }) => setId === id)
  const all = [...opened.filter(each => !isListed(each)), ...(await start(added, deploymentId))]
  // In the order in which they were named.
  all.sort((a, b) => candidates.indexOf(a.candidate) - candidates.indexOf(b.candidate))
  const sets = await addSets(records, listed, all, log)
  for (const each of [...opened, ...all]) each.candidate.number = sets.findIndex(({ setId }) => setId === each.id)
  return placed(sets, candidates)
}

async function look(candidate: Candidate): Promise<Opened> {
  const record = await candidate.set.get(sharedSetKey)
  const says = record === undefined ? undefined : decodePoolsDocument(record.value)
  return { candidate, id: candidate.set.redundant!.id, says }
}

/** Whether it has records of the storage's users. */
function hasRecords({ candidate: { set } }: Opened): Promise<boolean> {
  return Promise.resolve(set.scan(Buffer.from([0]), Buffer.from([0xfe]), cursor => cursor.next()))
}

function name({ candidate: { paths } }: Opened): string {
  return `${paths[0]} to ${paths.at(-1)}`
}

async function recordsAmong(opened: readonly Opened[]): Promise<Opened> {
  const leading = opened.filter(({ says }) => says?.role === 'records')
  if (leading.length > 1) {
    throw poolsErrors.pool_foreign(
      `The sets ${leading.map(name).join(' and ')} have the records of different storages. Name pools of one storage.`,
    )
  }
  const blobs = opened.filter(({ says }) => says?.role === 'blobs')
  const silent = opened.filter(({ says }) => says === undefined)
  const withRecords: Opened[] = []
  for (const each of silent) if (await hasRecords(each)) withRecords.push(each)
  const owner = blobs.map(({ says }) => (says?.role === 'blobs' ? says.recordsIn : ''))[0]
  const records =
    leading[0] ?? (owner === undefined ? (withRecords[0] ?? silent[0]) : opened.find(({ id }) => id === owner))
  if (records === undefined) {
    throw poolsErrors.pool_missing(
      `The set with the records is missing; ${blobs.map(name).join(', ')} have only blobs. Name the drives of all pools, and make sure that they are mounted.`,
    )
  }
  const other = withRecords.find(each => each !== records)
  if (other !== undefined) {
    throw poolsErrors.pool_foreign(
      `The set ${name(other)} has records of its own, so it cannot become a pool of ${name(records)}. Name empty drives for a new pool.`,
    )
  }
  const stranger = blobs.find(({ says }) => says?.role === 'blobs' && says.recordsIn !== records.id)
  if (stranger !== undefined) {
    throw poolsErrors.pool_foreign(
      `The set ${name(stranger)} has blobs of another storage than ${name(records)}. Name pools of one storage.`,
    )
  }
  return records
}

function listedBy({ id, says, candidate }: Opened): readonly ListedSet[] {
  if (says?.role === 'records') return says.sets
  return [{ setId: id, pool: 0, drives: candidate.paths.length }]
}

function requireAll(listed: readonly ListedSet[], opened: readonly Opened[], records: Opened): void {
  const missing = listed.filter(({ setId }) => !opened.some(({ id }) => id === setId))
  if (missing.length === 0) return
  const pools = new Set(listed.map(({ pool }) => pool)).size
  const what = missing.map(({ pool, drives }) => `a set of ${drives} drives of pool ${pool}`).join(', ')
  throw poolsErrors.pool_missing(
    `The storage whose records are in ${name(records)} has ${pools} pools; ${what} is missing. Name the drives of all pools, and make sure that they are mounted.`,
  )
}

/** A pool keeps its drives for ever: the drives of one argument are all of one listed pool, or all new. */
function requireSamePools(
  listed: readonly ListedSet[],
  opened: readonly Opened[],
  candidates: readonly Candidate[],
): void {
  const poolOf = (candidate: Candidate) => {
    const id = opened.find(each => each.candidate === candidate)?.id
    return listed.find(({ setId }) => setId === id)?.pool
  }
  for (const candidate of candidates) {
    const together = candidates.filter(({ argument }) => argument === candidate.argument)
    if (together.every(other => poolOf(other) === poolOf(candidate))) continue
    throw poolsErrors.pool_changed(
      `${together[0]!.paths[0]} to ${together.at(-1)!.paths.at(-1)} were named as one pool, but only some of them are one. A pool keeps its drives; name new ones as a pool of their own.`,
    )
  }
}

/** Resolves with all sets that are listed afterwards. */
async function addSets(
  records: Opened,
  listed: readonly ListedSet[],
  added: readonly Opened[],
  log: Logger,
): Promise<readonly ListedSet[]> {
  const { set: recordSet } = records.candidate
  // Raises the version, so that a release that does not know of groups refuses to open what this one writes.
  const isOlder = records.says !== undefined && records.says.version !== recordsVersion
  if (added.length === 0 && !isOlder) return listed
  const sets = [...listed]
  const pools = new Map<number, number>()
  for (const { candidate, id, says } of added) {
    let pool = pools.get(candidate.argument)
    if (pool === undefined) {
      // The first start: these sets belong to the pool of the record set.
      const isFirst = listed.length === 1 && candidate.argument === records.candidate.argument
      pool = isFirst ? 0 : Math.max(...sets.map(each => each.pool)) + 1
      pools.set(candidate.argument, pool)
    }
    if (says === undefined) {
      const document = encodePoolsDocument({ version: 1, role: 'blobs', recordsIn: records.id })
      await candidate.set.execute(procedure.describe, document)
    }
    sets.push({ setId: id, pool, drives: candidate.paths.length })
    log.info({ pool, drives: candidate.paths.length, first: candidate.paths[0] }, 'a set was added to the storage')
  }
  const document: RecordsDocument = { version: recordsVersion, role: 'records', sets }
  await recordSet.execute(procedure.describe, encodePoolsDocument(document))
  return sets
}

function placed(sets: readonly ListedSet[], candidates: readonly Candidate[]): PoolSet[] {
  const counts = new Map<number, number>()
  return sets.map(({ pool }, number) => {
    const set = counts.get(pool) ?? 0
    counts.set(pool, set + 1)
    return { backend: candidates.find(candidate => candidate.number === number)!.set, number, pool, set }
  })
}
