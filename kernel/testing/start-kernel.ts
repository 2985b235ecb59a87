/** Runs plugins in one thread, as the server does, for tests. */
import { ConfigurationError, resolveConfiguration } from '../config/resolve.ts'
import { createKernel } from '../kernel.ts'
import type { KernelService } from '../kernel-service.ts'
import type { Logger } from '../log.ts'
import type { AnyPlugin, ExtensionPoints, Findings, Point, PointName, Services } from '../plugin.ts'
import type { Ports } from '../ports.ts'
import { originOf } from '../program/discover.ts'
import { createLogger } from '../program/log.ts'
import { currentBuild } from '../program/revision.ts'
import { createSystemPorts } from '../program/system-ports.ts'
import { createSingleThread } from '../threads/calls.ts'
import type { Threads } from '../threads/threads.ts'

export interface TestKernelOptions {
  readonly plugins: readonly AnyPlugin[]
  /** Values by plugin and key, secrets included: `{ iam: { rootUser: '…' } }`. Checked like every configuration. */
  readonly config?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Replaces some of the system's ports: a fake clock, seeded randomness. */
  readonly ports?: Partial<Ports>
  /** Default: a process of one thread. */
  readonly threads?: Threads
  /** `set-up` stops before `start`, `start` before `serve`. Default `serve`. */
  readonly until?: 'set-up' | 'start' | 'serve'
  readonly startTimeoutMs?: number
  readonly stopTimeoutMs?: number
  readonly onStopRequest?: (reason: string, isRestart: boolean) => void
}

export interface TestKernel {
  readonly kernel: KernelService
  /** Every service. One of the test's plugins must provide each service that it uses. */
  readonly services: Readonly<Services>
  readonly ports: Ports
  readonly log: Logger
  /** The log so far, parsed: level `debug` and up. */
  readonly logs: readonly Readonly<Record<string, unknown>>[]
  readonly announcements: Readonly<Record<string, string | number | boolean>>
  point<P extends PointName>(name: P): Point<ExtensionPoints[P]>
  /** The result of a dry run; for a kernel that is only set up. */
  inspect(): Promise<Required<Findings>>
  drain(): Promise<readonly Error[]>
  /** Resolves with the failures of drain and stop; a test that expects none checks that it is empty. Idempotent. */
  stop(): Promise<readonly Error[]>
}

/** Resolves when the plugins serve. Rejects with ConfigurationError, PluginGraphError or PluginError. */
export async function startKernel(options: TestKernelOptions): Promise<TestKernel> {
  const { plugins, until = 'serve' } = options
  const { sections, problems } = resolveConfiguration(plugins, { argv: [], env: {}, given: options.config })
  if (problems.length > 0) throw new ConfigurationError(problems)
  const logs: Record<string, unknown>[] = []
  const watchers = new Set<(line: string) => void>()
  const log = createLogger('debug', {
    write(line) {
      logs.push(JSON.parse(line))
      for (const watcher of watchers) watcher(line)
    },
  })
  const ports = { ...createSystemPorts(), ...options.ports }
  const kernel = createKernel({
    ...options,
    config: sections,
    threads: options.threads ?? createSingleThread(log),
    ports,
    log,
    originOf,
    build: { ...currentBuild(), version: '0.0.0-test' },
    watchLog(listener) {
      watchers.add(listener)
      return () => watchers.delete(listener)
    },
  })
  kernel.setup()
  if (until !== 'set-up') await kernel.start()
  if (until === 'serve') {
    try {
      await kernel.serve()
    } catch (error) {
      await kernel.stop()
      throw error
    }
  }
  return {
    kernel: kernel.service,
    services: kernel.services() as Services,
    ports,
    log,
    logs,
    announcements: kernel.announcements(),
    point: name => kernel.point(name),
    inspect: kernel.inspect,
    drain: kernel.drain,
    stop: kernel.stop,
  }
}
