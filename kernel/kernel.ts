/**
 * The kernel: sorts plugins, sets them up with exactly what they declared, freezes the extension points, and runs their
 * life. It knows plugins, services, points and threads, and none of their purposes.
 */

import { Type } from 'typebox'
import { composePlugins, wanted } from './composition.ts'
import type {
  Build,
  CliCommand,
  CliCommandDefinition,
  DegradedPlugin,
  KernelService,
  KernelState,
  PluginOrigin,
} from './kernel-service.ts'
import { createLifecycle, PluginError, type Unit } from './lifecycle.ts'
import type { Logger } from './log.ts'
import type {
  AnyPlugin,
  ExtensionPoints,
  Findings,
  ListedEntry,
  Point,
  PointDeclaration,
  PointName,
  ServiceName,
  Services,
} from './plugin.ts'
import { createPoints, type OwnedPoint } from './points.ts'
import type { Ports } from './ports.ts'
import { createSingleThread } from './threads/calls.ts'
import type { Threads } from './threads/threads.ts'
import type { BackgroundWorker } from './worker.ts'

const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 30_000

const unknownBuild: Build = { version: '0.0.0', commit: 'unknown', buildDate: 'unknown' }

/** What a start after this one would read. */
export interface NextStart {
  /** Why it would be refused, in sentences. */
  readonly problems: readonly string[]
  /** The section of each plugin that it would load, by its name; those with problems are missing. */
  readonly config: Readonly<Record<string, unknown>>
}

export interface KernelOptions {
  readonly plugins: readonly AnyPlugin[]
  /** The validated section of each plugin, by its name. */
  readonly config: Readonly<Record<string, unknown>>
  /** Default: a process of one thread. */
  readonly threads?: Threads
  readonly ports: Ports
  readonly log: Logger
  /** Build of the program; default 0.0.0 of unknown sources. */
  readonly build?: Build
  /** The origin of a plugin. Default: a program that embeds the kernel has passed all of them. */
  readonly originOf?: (plugin: AnyPlugin) => PluginOrigin
  /** Deadline in milliseconds for `start` and `serve` of a plugin without its own; default 60 s. */
  readonly startTimeoutMs?: number
  /** Deadline in milliseconds for `drain` and `stop` of a plugin without its own; default 30 s. */
  readonly stopTimeoutMs?: number
  /** Plugins to leave out, together with all that require their services; for commands. */
  readonly skip?: ReadonlySet<string>
  /** Called once in the main thread, when a plugin asks for a stop or a restart. */
  readonly onStopRequest?: (reason: string, isRestart: boolean) => void
  /** Called in each thread, when a plugin changes the settings of the log. */
  readonly configureLog?: KernelService['configureLog']
  readonly watchLog?: KernelService['watchLog']
  /** Reads the configuration again, as a restart will. Default: it starts with the same. */
  readonly readNextStart?: () => Promise<NextStart>
}

export interface Kernel {
  readonly service: KernelService
  /** Sorts and sets up every plugin and freezes the points. Throws PluginGraphError or PluginError. */
  setup(): void
  /** Tells every plugin of every thread to look at its files again. */
  reload(): void
  /** Inspects every plugin instead of starting it: what its start would refuse and do. Sentences begin with the plugin's name. */
  inspect(): Promise<Required<Findings>>
  start(): Promise<void>
  /** Rejects like `start`; `stop` then stops the started plugins. In the main thread the state is `ready` afterwards. */
  serve(): Promise<void>
  /** The state becomes `draining` in every thread, without other effects. */
  beginDrain(): void
  drain(): Promise<readonly Error[]>
  stop(): Promise<readonly Error[]>
  /** All services, for the program that runs the kernel. */
  services(): Readonly<Partial<Services>>
  point<P extends PointName>(name: P): Point<ExtensionPoints[P]>
  /** Number of requests of all threads that a stop did not wait for. Only in the main thread. */
  cutOffRequests(): number
  /** Facts that plugins announced so far. */
  announcements(): Readonly<Record<string, string | number | boolean>>
}

const commandPoint: PointDeclaration = {
  cardinality: 'many',
  schema: Type.Object(
    {
      summary: Type.String({ minLength: 1 }),
      usage: Type.String(),
      examples: Type.Array(Type.String()),
      run: Type.Function([], Type.Unknown()),
    },
    { description: 'A command of `svc`; its id is the name of the command.' },
  ),
  listed: {
    isRequired: true,
    id: ({ name }: CliCommandDefinition<ServiceName>) => name,
    bind: ({ run, ...about }: CliCommandDefinition<ServiceName>, services: Services): CliCommand => ({
      ...about,
      run: (argv, io) => run(argv, io, services),
    }),
  },
}

/** Only POSIX systems have it; there it is in every Node.js that runs this. */
const canRestart = process.execve !== undefined && process.platform !== 'win32'

export function createKernel(options: KernelOptions): Kernel {
  const { plugins, log, ports, threads = createSingleThread(log), build = unknownBuild } = options
  let services: Readonly<Record<string, unknown>> = {}
  const units: Unit[] = []
  const skipped = new Set(options.skip)
  const degraded: DegradedPlugin[] = []
  const announcements: Record<string, string | number | boolean> = {}
  const stateListeners = new Set<(state: KernelState) => void>()
  const reloadListeners = new Set<() => void>()
  let state: KernelState = 'starting'
  let stopRequested = false

  const owned = new Map<string, OwnedPoint>([['cli.command', { owner: 'kernel', ...commandPoint }]])
  for (const { name, points = {} } of plugins) {
    for (const [point, declaration] of Object.entries<PointDeclaration>(points)) {
      owned.set(point, { owner: name, ...declaration })
    }
  }
  const points = createPoints(owned)

  const tellWorkers = (name: string, payload?: unknown): void => {
    if (threads.isMain) for (let i = 1; i <= threads.workerCount; i++) threads.post(i, name, payload)
  }
  const setState = (next: KernelState): void => {
    if (state === next) return
    state = next
    for (const listener of stateListeners) listener(next)
    tellWorkers('kernel.state', next)
  }

  const inMain = (name: string, handler: (payload: never) => void): ((payload: unknown) => void) => {
    if (!threads.isMain) return payload => threads.post(0, name, payload)
    threads.handle(name, handler)
    return handler as (payload: unknown) => void
  }
  const announce = inMain('kernel.announce', ({ key, value }: { key: string; value: string }) => {
    announcements[key] = value
  })
  const reportDegraded = inMain('kernel.degraded', (entry: DegradedPlugin) => {
    // Every thread runs every plugin: one that fails in all of them is one degraded plugin.
    if (!degraded.some(other => other.plugin === entry.plugin)) degraded.push(entry)
  })
  const request = (isRestart: boolean) => (reason: string) => {
    if (stopRequested) return
    stopRequested = true
    options.onStopRequest?.(reason, isRestart)
  }
  const requestStop = inMain('kernel.request-stop', request(false))
  const requestRestart = inMain('kernel.request-restart', request(true))
  const reload = () => {
    for (const listener of reloadListeners) listener()
    tellWorkers('kernel.reload')
  }
  const sectionOf = ({ name }: AnyPlugin): unknown => options.config[name] ?? Object.freeze({})
  const collectFindings = async (
    look: (unit: Unit) => Promise<Findings> | Findings | undefined,
  ): Promise<Required<Findings>> => {
    const problems: string[] = []
    const notLookedAt: string[] = []
    const plan: string[] = []
    for (const unit of units) {
      const { plugin } = unit
      try {
        const found = await look(unit)
        for (const problem of found?.problems ?? []) problems.push(`${plugin.name}: ${problem}`)
        for (const what of found?.notLookedAt ?? []) notLookedAt.push(`${plugin.name}: ${what}`)
        plan.push(...(found?.plan ?? []))
      } catch (error) {
        problems.push(`${plugin.name}: ${(error as Error).message}`)
      }
    }
    return { problems, notLookedAt, plan }
  }
  const inspectRestart = async (): Promise<readonly string[]> => {
    const next = await options.readNextStart?.()
    const found = await collectFindings(({ plugin, parts }) => {
      const section = next === undefined ? sectionOf(plugin) : next.config[plugin.name]
      return section === undefined ? undefined : parts.inspectRestart?.(section)
    })
    return [...(next?.problems ?? []), ...found.problems]
  }
  let cutOffRequests = 0
  const noteCutOff = (requests: number): void => {
    if (threads.isMain) cutOffRequests += requests
    else threads.post(0, 'kernel.cut-off', requests)
  }
  if (threads.isMain) {
    threads.handle('kernel.current-state', () => ({ state, degraded }))
    threads.handle('kernel.cut-off', noteCutOff)
    threads.handle('kernel.inspect-restart', inspectRestart)
  } else {
    threads.handle('kernel.reload', reload)
    threads.handle('kernel.state', setState)
  }

  const stopTimeoutMs = options.stopTimeoutMs ?? STOP_TIMEOUT_MS
  const lifecycle = createLifecycle({
    units,
    log,
    clock: ports.clock,
    startTimeoutMs: options.startTimeoutMs ?? START_TIMEOUT_MS,
    stopTimeoutMs,
    onDegraded: reportDegraded,
  })

  const dependenciesOf = (plugin: AnyPlugin): string[] => {
    const services = new Set(wanted(plugin))
    return units
      .filter(other => other.plugin.provides?.some(service => services.has(service)))
      .map(other => other.plugin.name)
  }

  const service: KernelService = {
    ...build,
    startedAtMs: ports.clock.now(),
    stopTimeoutMs,
    noteCutOff,
    state: () => state,
    degraded: () => degraded,
    onState(listener) {
      stateListeners.add(listener)
      return () => stateListeners.delete(listener)
    },
    onReload(listener) {
      reloadListeners.add(listener)
      return () => reloadListeners.delete(listener)
    },
    plugins: () =>
      units.map(({ plugin }) => ({
        name: plugin.name,
        version: plugin.version ?? service.version,
        description: plugin.description ?? '',
        origin: options.originOf?.(plugin) ?? 'external',
        startMs: lifecycle.startMs(plugin.name),
        dependsOn: dependenciesOf(plugin),
      })),
    workers: () => lifecycle.workers().map(worker => worker.status()),
    points: () => points.describe(),
    requestStop,
    canRestart,
    inspectRestart: () => (threads.isMain ? inspectRestart() : threads.call(0, 'kernel.inspect-restart')),
    requestRestart(reason) {
      if (!canRestart) throw new RangeError('a process cannot be replaced on this system')
      requestRestart(reason)
    },
    configureLog: settings => options.configureLog?.(settings),
    watchLog: listener => options.watchLog?.(listener) ?? (() => {}),
    announce: (key, value) => announce({ key, value }),
  }

  const builtIn = { kernel: Object.freeze(service), ports: Object.freeze(ports) }

  const contributeListed = (plugin: AnyPlugin, services: Readonly<Record<string, unknown>>): void => {
    const lists: Readonly<Record<string, readonly ListedEntry[]>> = plugin.contributes ?? {}
    const known = [...wanted(plugin), ...(plugin.provides ?? []), ...(plugin.internal ?? []), ...Object.keys(builtIn)]
    for (const [point, entries] of Object.entries(lists)) {
      for (const { uses = [] } of entries) {
        const unknown = uses.find(service => !known.includes(service))
        if (unknown !== undefined)
          throw new Error(`what it lists for "${point}" uses "${unknown}", a service that it does not name`)
      }
      points.contributeListed(point, plugin.name, entries, services)
    }
  }

  const setUpOne = (plugin: AnyPlugin, given: Readonly<Record<string, unknown>>) => {
    const background: BackgroundWorker[] = []
    const pluginLog = log.child({ plugin: plugin.name })
    let open = true
    const requireOpen = (what: string): void => {
      if (!open) throw new Error(`"${plugin.name}" ${what} after set-up`)
    }
    const context = {
      config: sectionOf(plugin),
      log: pluginLog,
      services: given,
      ports,
      threads,
      contribute(point: string, id: string, value: unknown, { optional = false } = {}) {
        requireOpen(`contributes "${id}" to "${point}"`)
        points.contribute(point, { id, plugin: plugin.name, value }, optional)
      },
      point(name: string) {
        if (plugin.points?.[name] === undefined)
          throw new Error(`"${plugin.name}" does not own the extension point "${name}"`)
        return points.point(name)
      },
      background(worker: BackgroundWorker) {
        requireOpen(`adds the background worker "${worker.name}"`)
        if (threads.isMain || worker.runsIn === 'every-thread') background.push(worker)
      },
    }
    const parts = plugin.setup(context as never) ?? {}
    if (parts instanceof Promise) throw new Error('setup must be synchronous')
    open = false
    const provided: Record<string, unknown> = parts.services ?? {}
    for (const name of plugin.provides ?? []) {
      if (provided[name] === undefined) throw new Error(`setup did not return the service "${name}" that it provides`)
    }
    const extra = Object.keys(provided).find(name => !plugin.provides?.includes(name))
    if (extra !== undefined) throw new Error(`setup returned the service "${extra}", which is not in "provides"`)
    contributeListed(plugin, { ...builtIn, ...given, ...provided, ...parts.internal })
    units.push({ plugin, log: pluginLog, parts, background })
    return provided
  }

  const setup = (): void => {
    services = composePlugins({
      plugins,
      builtIn: { services: builtIn, points: ['cli.command'] },
      skipped,
      setUp(plugin, given) {
        try {
          return setUpOne(plugin, given)
        } catch (error) {
          throw new PluginError(plugin.name, 'set-up', error)
        }
      },
    })
    points.freeze(skipped.size > 0)
  }

  return {
    service,
    setup,
    reload,
    inspect: () => collectFindings(({ parts }) => parts.inspect?.()),
    start: lifecycle.start,
    async serve() {
      await lifecycle.serve()
      if (threads.isMain) {
        if (state === 'starting') setState('ready')
        return
      }
      // From here on this worker is notified of changes; it requests the earlier state.
      const current = await threads.call<{ state: KernelState; degraded: DegradedPlugin[] }>(0, 'kernel.current-state')
      degraded.push(...current.degraded)
      setState(current.state)
    },
    beginDrain: () => setState('draining'),
    drain: async () => {
      if (threads.isMain) setState('draining')
      return lifecycle.drain()
    },
    stop: async () => {
      if (threads.isMain && state === 'ready') setState('draining')
      const failures = await lifecycle.stop()
      setState('stopped')
      return failures
    },
    services: () => services as Partial<Services>,
    point: name => points.point(name) as Point<never>,
    cutOffRequests: () => cutOffRequests,
    announcements: () => announcements,
  }
}
