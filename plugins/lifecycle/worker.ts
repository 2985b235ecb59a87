/**
 * When rules are applied: in every bucket that has some at the start, after each midnight (UTC), every `intervalMs`, and after a
 * change of its rules. One bucket at a time, slice by slice. Nothing of this is stored: a start begins anew, and what is done already
 * is not found again.
 */

import type { MaybePromise } from 'svc/kernel'
import { type BackgroundWorker, type Clock, isCatalogError } from 'svc/kernel'
import type { LifecycleRunResult } from './api.ts'
import type { Configurations } from './configurations.ts'
import { lifecycleErrors } from './errors.ts'
import type { LifecycleRun } from './run.ts'

/** How soon a change of rules is seen. */
export const pauseMs = 2000

export interface LifecycleWorker extends BackgroundWorker {
  /**
   * Applies the rules of one bucket now. Throws `conflict` while its rules are being applied, and what `beforeSlice` throws.
   */
  run(bucket: string, beforeSlice: () => MaybePromise<void>): Promise<LifecycleRunResult>
  /** A bucket whose rules have changed. */
  note(bucket: string): void
  /** For how long what is being worked on had been due, in milliseconds; 0 when nothing is due. */
  lagMs(): number
}

export interface WorkerOptions {
  readonly configurations: Configurations
  readonly clock: Clock
  /** How long a day of rules is: a round begins with each. */
  readonly dayMs: () => number
  readonly intervalMs: () => MaybePromise<number>
  createRun(bucket: string): LifecycleRun
  /** Called when the rules of every bucket that has some were applied once. */
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
  /** Buckets in which rules are to be applied. */
  const waiting = new Set<string>()
  /** Buckets in which they are. */
  const held = new Set<string>()
  let running: LifecycleRun | undefined
  let roundDay = -1
  let roundMs = 0
  let isRoundOpen = false

  const beginRound = async () => {
    const nowMs = clock.now()
    const day = Math.floor(nowMs / dayMs())
    // Also a clock that goes back begins a round; the rules then find nothing.
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
      if (held.has(bucket)) continue
      waiting.delete(bucket)
      held.add(bucket)
      return createRun(bucket)
    }
    return undefined
  }

  const end = (run: LifecycleRun) => {
    held.delete(run.bucket)
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
          if (isRoundOpen && held.size === 0) {
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
          // Behind the others, and after the pause that the failure earns.
          waiting.add(run.bucket)
          throw error
        }
      }
      return 'more'
    },
    status: () =>
      running === undefined ? `${waiting.size} buckets wait` : `in ${running.bucket}, ${waiting.size} wait`,
    async run(bucket, beforeSlice) {
      if (held.has(bucket)) throw lifecycleErrors.conflict()
      held.add(bucket)
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
