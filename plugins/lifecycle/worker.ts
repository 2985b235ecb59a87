/**
 * Schedules the runs: at the start, after each midnight (UTC) and every `intervalMs` in all buckets that have rules, and in a bucket whose
 * rules were changed. One bucket at a time, slice by slice. Nothing of the schedule is stored: a start begins again, and finds no removed
 * versions.
 */

import type { MaybePromise } from 'svc/kernel'
import { type BackgroundWorker, type Clock, isCatalogError } from 'svc/kernel'
import type { LifecycleRunResult } from './api.ts'
import type { Configurations } from './configurations.ts'
import { lifecycleErrors } from './errors.ts'
import type { LifecycleRun } from './run.ts'

/** How soon a change of rules is noticed. */
export const pauseMs = 2000

export interface LifecycleWorker extends BackgroundWorker {
  /** Applies the rules of one bucket now. Throws `conflict` while they are being applied, and the errors of `beforeSlice`. */
  run(bucket: string, beforeSlice: () => MaybePromise<void>): Promise<LifecycleRunResult>
  /** To be called for a bucket whose rules have changed. */
  note(bucket: string): void
  /** How long ago the current candidates became due, in milliseconds; 0 if nothing is due. */
  lagMs(): number
}

export interface WorkerOptions {
  readonly configurations: Configurations
  readonly clock: Clock
  /** The length of a day of rules: each day begins a round. */
  readonly dayMs: () => number
  readonly intervalMs: () => MaybePromise<number>
  createRun(bucket: string): LifecycleRun
  /** Called when the rules of all buckets were applied once. */
  onRound?(): void
}

export function createWorker({
  configurations,
  clock,
  dayMs,
  intervalMs,
  createRun,
  onRound,
}: WorkerOptions): LifecycleWorker {
  /** Buckets whose rules are to be applied. */
  const waiting = new Set<string>()
  /** Buckets whose rules are being applied. */
  const busy = new Set<string>()
  let running: LifecycleRun | undefined
  let roundDay = -1
  let roundMs = 0
  let isRoundOpen = false

  const beginRound = async () => {
    const nowMs = clock.now()
    const day = Math.floor(nowMs / dayMs())
    // A clock that goes back begins a round, too; the rules then find nothing.
    if (day === roundDay && nowMs >= roundMs && nowMs - roundMs < (await intervalMs())) return
    for (let next: string | undefined = ''; next !== undefined; ) {
      const page: { readonly documents: readonly { readonly id: string }[]; readonly next: string | undefined } =
        await configurations.documents.list({ startAfter: next })
      for (const { id } of page.documents) waiting.add(id)
      next = page.next
    }
    roundDay = day
    roundMs = nowMs
    isRoundOpen = true
  }

  const nextRun = (): LifecycleRun | undefined => {
    for (const bucket of waiting) {
      if (busy.has(bucket)) continue
      waiting.delete(bucket)
      busy.add(bucket)
      return createRun(bucket)
    }
    return undefined
  }

  const end = (run: LifecycleRun) => {
    busy.delete(run.bucket)
    if (running === run) running = undefined
  }

  return {
    name: 'expiry',
    pauseMs,
    async work() {
      if (running === undefined) {
        await beginRound()
        running = nextRun()
        if (running === undefined) {
          if (isRoundOpen && busy.size === 0) {
            isRoundOpen = false
            onRound?.()
          }
          return 'idle'
        }
      }
      const run = running
      try {
        if (await run.step()) end(run)
      } catch (error) {
        end(run)
        if (!isCatalogError(error) || error.code !== 'NoSuchBucket') {
          // Behind the other buckets, and after the pause that follows a failure.
          waiting.add(run.bucket)
          throw error
        }
      }
      return 'more'
    },
    status: () =>
      running === undefined ? `${waiting.size} buckets wait` : `in ${running.bucket}, ${waiting.size} wait`,
    async run(bucket, beforeSlice) {
      if (busy.has(bucket)) throw lifecycleErrors.conflict()
      busy.add(bucket)
      const run = createRun(bucket)
      try {
        for (;;) {
          await beforeSlice()
          if (await run.step()) return run.result
          // The next slice begins in another turn of the event loop.
          await new Promise(resolve => setImmediate(resolve))
        }
      } finally {
        end(run)
      }
    },
    note: bucket => {
      waiting.add(bucket)
    },
    lagMs: () => Math.max(0, running?.lagMs ?? 0),
  }
}
