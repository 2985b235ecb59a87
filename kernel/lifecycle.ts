/**
 * Runs the phases of plugins: in order and under a deadline each, and back in reverse.
 *
 *   start   in order; a failure undoes what had started, in reverse, the failing plugin included
 *   serve   in order
 *   drain   in reverse; a failure is reported and the rest goes on, because everybody must get the chance to stop
 *   stop    in reverse; as drain
 */
import { wanted } from './graph.ts'
import type { DegradedPlugin } from './kernel-service.ts'
import type { Logger } from './log.ts'
import type { AnyPlugin, PluginParts } from './plugin.ts'
import type { Clock } from './ports.ts'
import type { BackgroundWorker, RunningWorker } from './worker.ts'
import { runWorker } from './worker.ts'

/** A plugin that failed in a phase; the message begins with its name. */
export class PluginError extends Error {
  readonly plugin: string

  constructor(plugin: string, phase: string, cause: unknown) {
    super(`plugin "${plugin}": ${phase}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.name = 'PluginError'
    this.plugin = plugin
  }
}

/** A plugin with what its set-up returned. */
export interface Unit {
  readonly plugin: AnyPlugin
  readonly log: Logger
  readonly parts: PluginParts<never>
  readonly background: readonly BackgroundWorker[]
}

export interface LifecycleOptions {
  readonly units: readonly Unit[]
  readonly clock: Clock
  readonly log: Logger
  /** For plugins that set no deadline of their own. */
  readonly startTimeoutMs: number
  readonly stopTimeoutMs: number
  readonly onDegraded: (degraded: DegradedPlugin) => void
}

export interface Lifecycle {
  start(): Promise<void>
  serve(): Promise<void>
  /** Idempotent. Resolves with what went wrong, which has been logged. */
  drain(): Promise<readonly Error[]>
  /** Idempotent, allowed at any time; during a start it waits for the plugin that is starting. Resolves like `drain`. */
  stop(): Promise<readonly Error[]>
  workers(): readonly RunningWorker[]
}

export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const { units, clock, log } = options
  const begun: Unit[] = []
  const workers = new Map<Unit, RunningWorker[]>()
  const absentServices = new Map<string, string>()
  let starting: Promise<void> | undefined
  let serving = false
  let draining: Promise<readonly Error[]> | undefined
  let stopping: Promise<readonly Error[]> | undefined

  const run = async (unit: Unit, phase: 'start' | 'serve' | 'drain' | 'stop'): Promise<void> => {
    const { plugin, parts } = unit
    const deadlineMs =
      phase === 'start' || phase === 'serve'
        ? (plugin.startTimeoutMs ?? options.startTimeoutMs)
        : (plugin.stopTimeoutMs ?? options.stopTimeoutMs)
    try {
      await withDeadline(() => parts[phase]?.(), deadlineMs, clock)
    } catch (error) {
      throw new PluginError(plugin.name, phase, error)
    }
  }

  const runReverse = async (phase: 'drain' | 'stop'): Promise<readonly Error[]> => {
    const failures: Error[] = []
    const attempt = async (unit: Unit, work: () => Promise<void>): Promise<void> => {
      try {
        await work()
      } catch (error) {
        failures.push(error as Error)
        unit.log.error({ err: error }, `${phase} failed`)
      }
    }
    for (const unit of begun.toReversed()) {
      await attempt(unit, () => stopWorkers(unit))
      await attempt(unit, () => run(unit, phase))
    }
    return failures
  }

  const stopWorkers = async (unit: Unit): Promise<void> => {
    const running = workers.get(unit) ?? []
    workers.delete(unit)
    if (running.length === 0) return
    const stopped = () => Promise.all(running.map(worker => worker.stop()))
    try {
      await withDeadline(stopped, unit.plugin.stopTimeoutMs ?? options.stopTimeoutMs, clock)
    } catch (error) {
      throw new PluginError(unit.plugin.name, 'background workers', error)
    }
  }

  const startOne = async (unit: Unit): Promise<void> => {
    const { plugin } = unit
    // An optional service counts as well: the plugin holds it, and its methods would be called though nothing was opened.
    const missing = wanted(plugin).find(name => absentServices.has(name))
    try {
      if (missing !== undefined) {
        throw new PluginError(
          plugin.name,
          'start',
          `it requires "${missing}" of "${absentServices.get(missing)}", which failed`,
        )
      }
      // Registered before it is awaited: what opened half of its files has files to close.
      begun.push(unit)
      await run(unit, 'start')
      workers.set(
        unit,
        unit.background.map(worker => runWorker(worker, plugin.name, clock, unit.log)),
      )
    } catch (error) {
      if (plugin.onStartFailure !== 'degrade') throw error
      unit.log.error({ err: error }, 'start failed; the server goes on without this plugin')
      for (const name of plugin.provides ?? []) absentServices.set(name, plugin.name)
      if (begun.at(-1) === unit) {
        begun.pop()
        await run(unit, 'stop').catch(cause => unit.log.error({ err: cause }, 'stop failed'))
      }
      options.onDegraded({ plugin: plugin.name, error: (error as Error).message })
    }
  }

  const startAll = async (): Promise<void> => {
    try {
      for (const unit of units) {
        if (stopping !== undefined) throw new Error('stopped while starting')
        await startOne(unit)
      }
    } catch (error) {
      // A stop that was asked for meanwhile does the same; here nobody else would.
      if (stopping === undefined) {
        stopping = runReverse('stop')
        await stopping
      }
      throw error
    }
  }

  const drain = (): Promise<readonly Error[]> => {
    // Who never began to accept work has nothing to drain.
    draining ??= serving ? runReverse('drain') : Promise.resolve([])
    return draining
  }

  const stopAll = async (): Promise<readonly Error[]> => {
    // A start that fails because of this stop, or by itself, is reported by whoever awaits it.
    await starting?.catch(() => {})
    const drained = await drain()
    return [...drained, ...(await runReverse('stop'))]
  }

  return {
    start() {
      starting ??= startAll()
      return starting
    },
    async serve() {
      serving = true
      for (const unit of begun) await run(unit, 'serve')
      log.debug({ plugins: begun.length }, 'plugins serve')
    },
    drain,
    stop() {
      stopping ??= stopAll()
      return stopping
    },
    workers: () => [...workers.values()].flat(),
  }
}

/** Rejects when the work has not ended after `deadlineMs`. The work itself goes on: JavaScript cannot end it. */
export async function withDeadline<T>(work: () => Promise<T> | T, deadlineMs: number, clock: Clock): Promise<T> {
  const result = work()
  if (!(result instanceof Promise)) return result
  let cancel = () => {}
  const expired = new Promise<never>((_, reject) => {
    cancel = clock.after(deadlineMs, () => reject(new Error(`not done after ${deadlineMs} ms`)))
  })
  try {
    return await Promise.race([result, expired])
  } finally {
    cancel()
  }
}
