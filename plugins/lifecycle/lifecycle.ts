/** The service: stores rules, computes expirations of versions, and runs rules in the main thread. */

import type { MaybePromise, Ports, Threads } from 'svc/kernel'
import type { ArchiveSection } from 'svc/plugins/cluster-archive/api'
import type { LockService } from 'svc/plugins/lock/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import type { StoreService } from 'svc/plugins/store/api'
import type { LifecycleRunResult, LifecycleService } from './api.ts'
import { type Configurations, createConfigurations, type Ready } from './configurations.ts'
import { previewRuns } from './preview.ts'
import { readyRules } from './ready-rules.ts'
import { createRun, type LifecycleAction } from './run.ts'
import { createWorker, type LifecycleWorker } from './worker.ts'

export interface LifecycleOptions {
  readonly objects: ObjectsService
  readonly store: StoreService
  readonly locks: LockService
  readonly ports: Ports
  readonly threads: Threads
  /** The length of a day of rules; available after the start. */
  readonly dayMs: () => number
  readonly normalizeKey: NormalizeKey
  /** Called before each round. */
  readonly intervalMs: () => MaybePromise<number>
  onAction(action: LifecycleAction): void
  onRound(): void
}

export interface RunningLifecycle {
  readonly service: LifecycleService
  readonly configurations: Configurations
  readonly worker: LifecycleWorker
  readonly section: ArchiveSection
  start(): Promise<void>
  stop(): void
}

const runCall = 'lifecycle.run'

export function createLifecycle(options: LifecycleOptions): RunningLifecycle {
  const { objects, store, locks, ports, threads, dayMs, normalizeKey, intervalMs, onAction, onRound } = options
  const { clock, random } = ports
  const configurations = createConfigurations(store, objects, dayMs, normalizeKey)
  const worker = createWorker({
    configurations,
    clock,
    dayMs,
    intervalMs,
    onRound,
    createRun: bucket => createRun({ objects, configurations, bucket, now: clock.now, onAction }),
  })
  const runNow = (bucket: string) =>
    locks.hold(`${bucket}/lifecycle`, { source: 'runBucketLifecycle' }, ({ check }) => worker.run(bucket, check))
  if (threads.isMain) threads.handle(runCall, runNow)
  const preview: LifecycleService['preview'] = (bucket, rules, { atMs, isGone = () => false } = {}) => {
    const ready = rules.length === 0 ? undefined : readyRules(rules, normalizeKey, dayMs())
    const nowMs = clock.now()
    return previewRuns({ objects, bucket, rules: ready, dayMs: dayMs(), nowMs, atMs: atMs ?? nowMs, isGone })
  }
  const service: LifecycleService = {
    configuration: configurations.configuration,
    replace: (bucket, rules, change) => {
      const named = rules.map(rule => (rule.id === '' ? { ...rule, id: random.bytes(16).toString('hex') } : rule))
      return configurations.replace(bucket, named, change)
    },
    run: bucket => (threads.isMain ? runNow(bucket) : threads.call<LifecycleRunResult>(0, runCall, bucket)),
    preview,
    expirationOf: version => ask(configurations, version.bucket, rules => rules.expirationOf(version)),
    abortionOf: ({ bucket, key, startedMs }) => ask(configurations, bucket, rules => rules.abortionOf(key, startedMs)),
  }
  let unwatch: (() => void) | undefined
  return {
    service,
    configurations,
    worker,
    section: { documents: configurations.documents },
    async start() {
      unwatch = configurations.documents.watch(({ id }) => {
        worker.note(id)
        remember(configurations, id)
      })
      for (let next: string | undefined = ''; next !== undefined; ) {
        const page: { readonly documents: readonly { readonly id: string }[]; readonly next: string | undefined } =
          await configurations.documents.list({ startAfter: next })
        for (const { id } of page.documents) remember(configurations, id)
        next = page.next
      }
    },
    stop() {
      unwatch?.()
      unwatch = undefined
    },
  }
}

function ask<T>({ ready }: Configurations, bucket: string, question: (rules: Ready) => T | undefined) {
  const rules = ready.get(bucket)
  if (rules instanceof Promise) return rules.then(found => (found === undefined ? undefined : question(found)))
  return rules === undefined ? undefined : question(rules)
}

/** Reads the rules in advance, so that headers of later answers can be computed without waiting. */
function remember({ ready }: Configurations, bucket: string): void {
  const fetched = ready.get(bucket)
  // Callers that need the rules get the same error and report it.
  if (fetched instanceof Promise) fetched.catch(() => undefined)
}
