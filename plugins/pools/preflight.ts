/**
 * Checks for `server --dry-run` whether each set could be opened, and whether a set is missing. Reads only. The pools document of a drive
 * that was not stopped cleanly is in its journal, which only a start reads: it is not checked then. Called by `index.ts`.
 */
import type { DriveLook, DrivesService } from 'svc/plugins/drive/api'
import { deploymentsProblem, type SetsService, sharedSetKey } from 'svc/plugins/erasure/api'
import type { Cursor, RecordKey, StorageLookOptions, StoredRecord } from 'svc/plugins/storage/api'
import { cutPools, type NamedSet } from './endpoints.ts'
import { decodePoolsDocument, type PoolsDocument } from './pools-document.ts'

export interface PreflightOptions {
  readonly drives: DrivesService
  readonly sets: SetsService
  readonly pools: readonly (readonly string[])[]
}

interface Looked extends NamedSet {
  readonly looks: readonly DriveLook[]
  readonly isFormatted: boolean
  /** Undefined if it has no pools document, or it cannot be read. */
  readonly says: PoolsDocument | undefined
}

async function lookAt({ drives, sets }: PreflightOptions, named: NamedSet): Promise<Looked> {
  const looks = await Promise.all(named.paths.map(path => drives.look(path)))
  const isFormatted = looks.some(({ state }) => state === 'formatted')
  let says: PoolsDocument | undefined
  try {
    const record = isFormatted ? await sets.peek({ endpoints: named.paths }, sharedSetKey) : undefined
    says = record && decodePoolsDocument(record.value)
  } catch {
    // Only a start can tell.
  }
  return { ...named, looks, isFormatted, says }
}

/** A sentence for each reason why a start would be refused. */
export async function checkPools(options: PreflightOptions): Promise<string[]> {
  const { sets } = options
  const named = cutPools(options.pools)
  const looked = await Promise.all(named.map(each => lookAt(options, each)))
  const problem = deploymentsProblem(looked.flatMap(({ looks }) => looks))
  if (problem !== undefined) return [problem]
  const problems = (await Promise.all(named.map(({ paths }) => sets.check({ endpoints: paths })))).flat()
  const formatted = looked.filter(({ isFormatted }) => isFormatted)
  const records = formatted.find(({ says }) => says?.role === 'records')
  const isAnySilent = formatted.some(({ says }) => says === undefined)
  if (records?.says?.role === 'records') {
    const missing = records.says.sets.length - formatted.length
    if (missing > 0) {
      problems.push(
        `The storage whose records are in ${records.paths[0]} to ${records.paths.at(-1)} has ${records.says.sets.length} sets; ${missing} of them are not named or not mounted. Name the drives of all pools.`,
      )
    }
  } else if (formatted.length > 0 && !isAnySilent) {
    problems.push(
      'The set with the records is missing. Name the drives of all pools, and make sure that they are mounted.',
    )
  }
  return problems
}

/** What a start would create. To be called if `checkPools` found no problem. */
export async function planPools({ sets, pools }: PreflightOptions): Promise<string[]> {
  const plans = await Promise.all(cutPools(pools).map(({ paths }) => sets.plan({ endpoints: paths })))
  return plans.flat()
}

/** What was not checked. To be called if `checkPools` found no problem. */
export async function notLookedAtInPools({ sets, pools }: PreflightOptions): Promise<string[]> {
  const named = cutPools(pools)
  return (await Promise.all(named.map(({ paths }) => sets.notLookedAt({ endpoints: paths })))).flat()
}

/** A record as the last run left it. Rejects if only a start can tell. */
export async function peekPools(options: PreflightOptions, key: RecordKey): Promise<StoredRecord | undefined> {
  const records = await findRecords(options)
  return records && options.sets.peek(records, key)
}

/** As `peekPools`, for the records from `start` to before `end`. */
export async function peekScanPools<T>(
  options: PreflightOptions,
  start: RecordKey,
  end: RecordKey,
  visit: (cursor: Cursor) => T,
): Promise<T | undefined> {
  const records = await findRecords(options)
  return records && options.sets.peekScan(records, start, end, visit)
}

/** The set that has the records; undefined where no drive has been used yet. */
async function findRecords(options: PreflightOptions): Promise<StorageLookOptions | undefined> {
  const looked = await Promise.all(cutPools(options.pools).map(each => lookAt(options, each)))
  const formatted = looked.filter(({ isFormatted }) => isFormatted)
  const records =
    formatted.find(({ says }) => says?.role === 'records') ?? formatted.find(({ says }) => says === undefined)
  return records && { endpoints: records.paths }
}
