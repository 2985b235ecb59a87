/**
 * Runs the phases of plugins, each under a deadline of the clock port, on two instances of avvio: one loads plugins by `start` and
 * closes them by `stop`, the other by `serve` and `drain`.
 *
 *   start   in order; a failure undoes what had started, in reverse, the failing plugin included
 *   serve   in order, when all plugins of all threads have started; then background workers begin, whose work may need requests
 *           that this server itself answers
 *   drain   in reverse; a failure is reported and the rest goes on, because everybody must get the chance to stop
 *   stop    in reverse; as drain
 */
import avvio from 'avvio'
import { wanted } from './composition.ts'
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
  /** Idempotent. Resolves with the failures, which have been logged. */
  drain(): Promise<readonly Error[]>
  /** Idempotent, allowed at any time; during a start it waits for the plugin that is starting. Resolves like `drain`. */
  stop(): Promise<readonly Error[]>
  workers(): readonly RunningWorker[]
  /** Milliseconds that the start of this plugin took; undefined before its end. */
  startMs(plugin: string): number | undefined
}

/** A start that takes longer reports its progress. */
const slowStartMs = 2000

export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const { units, clock, log } = options
  const starts = avvio(null, { autostart: false })
  const serves = avvio(null, { autostart: false })
  const begun = new Set<Unit>()
  const workers = new Map<Unit, RunningWorker[]>()
  const absentServices = new Map<string, string>()
  let starting: Promise<void> | undefined
  let isServing = false
  let draining: Promise<readonly Error[]> | undefined
  let stopping: Promise<readonly Error[]> | undefined

  /** The plugin whose phase was begun last. */
  let busy: { readonly unit: Unit; readonly phase: string } | undefined

  const run = async (unit: Unit, phase: 'start' | 'serve' | 'drain' | 'stop'): Promise<void> => {
    busy = { unit, phase }
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

  /** Logs what a phase waits for, at growing intervals. */
  const tellIfSlow = async (work: Promise<void>): Promise<void> => {
    const startedMs = clock.now()
    let cancel = () => {}
    const tellAfter = (pauseMs: number): void => {
      cancel = clock.after(pauseMs, () => {
        busy?.unit.log.info({ phase: busy.phase, elapsedMs: clock.now() - startedMs }, 'still starting')
        tellAfter(2 * pauseMs)
      })
    }
    tellAfter(slowStartMs)
    await work.finally(() => cancel())
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

  const failures = { drain: [] as Error[], stop: [] as Error[] }
  /** Never rejects: avvio would remember only the last failure. */
  const end = async (unit: Unit, phase: 'drain' | 'stop'): Promise<void> => {
    for (const work of [() => stopWorkers(unit), () => run(unit, phase)]) {
      try {
        await work()
      } catch (error) {
        failures[phase].push(error as Error)
        unit.log.error({ err: error }, `${phase} failed`)
      }
    }
  }

  const startOne = async (unit: Unit): Promise<void> => {
    if (stopping !== undefined) throw new Error('stopped while starting')
    const { plugin } = unit
    // An optional service counts as well: the plugin holds it, and its methods would be called though nothing was opened.
    const missing = wanted(plugin).find(name => absentServices.has(name))
    try {
      if (missing !== undefined) {
        const reason = `it requires "${missing}" of "${absentServices.get(missing)}", which failed`
        throw new PluginError(plugin.name, 'start', reason)
      }
      // Registered before it is awaited: a plugin that opened half of its files has files to close.
      begun.add(unit)
      starts.onClose(() => (begun.has(unit) ? end(unit, 'stop') : undefined))
      await run(unit, 'start')
    } catch (error) {
      if (plugin.onStartFailure !== 'degrade') throw error
      unit.log.error({ err: error }, 'start failed; the server goes on without this plugin')
      for (const name of plugin.provides ?? []) absentServices.set(name, plugin.name)
      if (begun.delete(unit)) await run(unit, 'stop').catch(cause => unit.log.error({ err: cause }, 'stop failed'))
      options.onDegraded({ plugin: plugin.name, error: (error as Error).message })
    }
  }

  const startAll = async (): Promise<void> => {
    for (const unit of units) starts.use(() => startOne(unit), { name: unit.plugin.name })
    try {
      await tellIfSlow(ready(starts))
      log.debug({ startMs: timesOf(starts) }, 'plugins have started')
    } catch (error) {
      // A stop that was requested meanwhile does the same; otherwise it would not happen.
      if (stopping === undefined) {
        stopping = close(starts, failures.stop)
        await stopping
      }
      throw error
    }
  }

  const drain = (): Promise<readonly Error[]> => {
    // A plugin that never began to accept work need not drain.
    draining ??= isServing ? close(serves, failures.drain) : Promise.resolve([])
    return draining
  }

  const stopAll = async (): Promise<readonly Error[]> => {
    if (starting === undefined) return []
    // A start that fails because of this stop, or by itself, is reported by its caller.
    await starting.catch(() => {})
    return [...(await drain()), ...(await close(starts, failures.stop))]
  }

  return {
    start() {
      starting ??= startAll()
      return starting
    },
    async serve() {
      isServing = true
      for (const unit of begun) {
        serves.use(() => (draining === undefined ? run(unit, 'serve') : undefined), { name: unit.plugin.name })
        serves.onClose(() => end(unit, 'drain'))
      }
      await tellIfSlow(ready(serves))
      log.debug({ plugins: begun.size, serveMs: timesOf(serves) }, 'plugins serve')
      if (draining !== undefined) return
      for (const unit of begun) {
        const run = (worker: BackgroundWorker) => runWorker(worker, unit.plugin.name, clock, unit.log)
        workers.set(unit, unit.background.map(run))
      }
    },
    drain,
    stop() {
      stopping ??= stopAll()
      return stopping
    },
    workers: () => [...workers.values()].flat(),
    startMs: plugin => timesOf(starts)[plugin],
  }
}

/** Loads the functions given to `use`. An instance of avvio has a method `then`: no promise must resolve with it. */
function ready(boot: avvio.Avvio<null>): Promise<void> {
  return new Promise((resolve, reject) => boot.ready(error => (error ? reject(error) : resolve())))
}

/** Waits for running loads, then runs the functions given to `onClose`, the last first. Resolves with the failures. */
function close(boot: avvio.Avvio<null>, failures: readonly Error[]): Promise<readonly Error[]> {
  return new Promise(resolve => boot.close(() => resolve(failures)))
}

/** Milliseconds by plugin, of those that have been loaded, from avvio's tree of times. */
function timesOf(boot: avvio.Avvio<null>): Readonly<Record<string, number>> {
  const { nodes } = boot.toJSON() as { readonly nodes: readonly { label: string; stop: number | null; diff: number }[] }
  return Object.fromEntries(nodes.filter(({ stop }) => stop !== null).map(({ label, diff }) => [label, diff]))
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
