/**
 * Reads every shard of a set once in `scanner.deep_cycle`, a slice at a time, and has what is damaged made anew. How far it has come,
 * and when the last pass ended, is kept in a document: a restart neither begins again nor forgets.
 */
import type { BackgroundWorker, Clock, Logger } from 'svc/kernel'
import type { RedundancyService, RedundantStorage } from 'svc/plugins/erasure/api'
import type { Collection, StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'

/** How often it looks whether a pass is due. */
const pauseMs = 10_000
/** How often it writes down how far it has come. */
const savedEveryMs = 30_000

const DeepScan = Type.Object({
  /** Milliseconds since 1970; 0: none has begun. */
  startedMs: Type.Integer({ minimum: 0 }),
  /** Of the last whole pass; 0: there was none. */
  finishedMs: Type.Integer({ minimum: 0 }),
  /** Key of the record with which to go on, base64; empty: no pass is under way. */
  position: Type.String(),
  /** Of the pass under way, or of the last one. */
  damaged: Type.Integer({ minimum: 0 }),
})
type DeepScan = Static<typeof DeepScan>

const never: DeepScan = { startedMs: 0, finishedMs: 0, position: '', damaged: 0 }
const id = 'set'

export type DeepScans = Collection<DeepScan>

/** During set-up, in every thread. */
export function declareDeepScans(store: StoreService): DeepScans {
  return store.collection({ name: 'deep-scan', version: 1, schema: DeepScan })
}

/** The pass under way, or the last one; undefined where none has begun. */
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
    // A new set has just been written: its first pass is due after a cycle, not at once.
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
    // Also a clock that goes back begins a pass.
    const sinceMs = clock.now() - scan.finishedMs
    if (sinceMs >= 0 && sinceMs < cycle) return false
    position = Buffer.from([0])
    await save({ ...scan, startedMs: clock.now(), position: position.toString('base64'), damaged: 0 })
    log.info('a pass over all shards begins')
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
    log.info({ damaged }, 'a pass over all shards has ended')
  }

  return {
    name: 'deep',
    pauseMs,
    status: () => text,
    async work(signal) {
      const set = redundancy.storage()
      const cycle = set === undefined ? 0 : await cycleMs()
      // Without a quorum nothing that it finds could be written down or mended.
      if (set === undefined || cycle === 0 || !set.canWrite || !(await begin(cycle))) {
        text = 'waits'
        return 'idle'
      }
      text = `reads all shards, ${scan!.damaged} records were damaged`
      await step(set, signal)
      return 'more'
    },
  }
}
