/**
 * Scrubs all sets: reads every shard once in `scanner.deep_cycle`, a slice at a time, and has missing and corrupt shards rebuilt. The
 * position and the end of the last pass are stored in a document, so that a restart continues the pass. The background worker `deep` of `index.ts`.
 */
import type { BackgroundWorker, Clock, Logger } from 'svc/kernel'
import type { RedundancyService, RedundantStorage } from 'svc/plugins/erasure/api'
import type { Collection, StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'

/** How often it checks whether a pass is due. */
const pauseMs = 10_000
/** How often it stores its position. */
const savedEveryMs = 30_000

const DeepScan = Type.Object({
  /** Milliseconds since 1970; 0: none has begun. */
  startedMs: Type.Integer({ minimum: 0 }),
  /** End of the last complete pass; 0: there was none. */
  finishedMs: Type.Integer({ minimum: 0 }),
  /** Key of the record to continue with, base64; empty: no pass is running. */
  position: Type.String(),
  /** Damaged records of the running pass, or of the last one. */
  damaged: Type.Integer({ minimum: 0 }),
})
type DeepScan = Static<typeof DeepScan>

const never: DeepScan = { startedMs: 0, finishedMs: 0, position: '', damaged: 0 }
const id = 'set'

export type DeepScans = Collection<DeepScan>

/** During set-up, in every thread. */
export function declareDeepScans(store: StoreService): DeepScans {
  return store.collection({
    name: 'deep-scan',
    version: 1,
    archiveNote: 'not in it: the work of a moment',
    schema: DeepScan,
  })
}

/** The running pass, or the last one; undefined if none has begun. */
export async function currentPass(scans: DeepScans): Promise<DeepScan | undefined> {
  const scan = (await scans.get(id))?.value
  return scan === undefined || scan.startedMs === 0 ? undefined : scan
}

export interface DeepScanOptions {
  readonly redundancy: RedundancyService
  readonly scans: DeepScans
  readonly clock: Clock
  readonly log: Logger
  /** 0: never. */
  cycleMs(): Promise<number>
  onPass(): void
}

export function createDeepScan({ redundancy, scans, clock, log, cycleMs, onPass }: DeepScanOptions): BackgroundWorker {
  let scan: DeepScan | undefined
  let position: Buffer | undefined
  let savedMs = 0
  let text = ''

  const save = async (next: DeepScan) => {
    await scans.put(id, next, { overwriteUnreadable: true })
    scan = next
    savedMs = clock.now()
  }

  const load = async (): Promise<DeepScan> => {
    const stored = (await scans.get(id))?.value
    if (stored !== undefined) return stored
    // The set is new: its first pass is due after a cycle, not at once.
    const first = { ...never, finishedMs: clock.now() }
    await save(first)
    return first
  }

  const begin = async (cycle: number): Promise<boolean> => {
    scan ??= await load()
    if (scan.position !== '') {
      position ??= Buffer.from(scan.position, 'base64')
      return true
    }
    // A clock that has gone back begins a pass, too.
    const sinceMs = clock.now() - scan.finishedMs
    if (sinceMs >= 0 && sinceMs < cycle) return false
    position = Buffer.from([0])
    await save({ ...scan, startedMs: clock.now(), position: position.toString('base64'), damaged: 0 })
    log.info('a scrub of all shards begins')
    return true
  }

  const step = async (set: RedundantStorage, signal: AbortSignal) => {
    const before = set.counts.damaged
    const next = await set.scrubSome(position, signal)
    const damaged = scan!.damaged + set.counts.damaged - before
    scan = { ...scan!, damaged }
    if (next !== undefined) {
      position = next
      if (clock.now() - savedMs >= savedEveryMs) await save({ ...scan, position: next.toString('base64') })
      return
    }
    position = undefined
    await save({ ...scan, finishedMs: clock.now(), position: '' })
    onPass()
    log.info({ damaged }, 'a scrub of all shards has ended')
  }

  return {
    name: 'deep',
    pauseMs,
    status: () => text,
    async work(signal) {
      const set = redundancy.storage()
      const cycle = set === undefined ? 0 : await cycleMs()
      // Without a write quorum it could neither mark nor rebuild the shards that it finds.
      if (set === undefined || cycle === 0 || !set.canWrite || !(await begin(cycle))) {
        text = 'waits'
        return 'idle'
      }
      text = `scrubs all shards; ${scan!.damaged} damaged records so far`
      await step(set, signal)
      return 'more'
    },
  }
}
