/** The kernel's interface for plugins: the service `kernel`, and the commands that plugins add to the command line. */
import type { TSchema } from 'typebox'
import type { LogFormat, LogLevel } from './log.ts'
import type { ServiceName, Services } from './plugin.ts'
import type { WorkerStatus } from './worker.ts'

/** `ready` is reached when every plugin of every thread serves; `draining` begins before the first `drain`. */
export type KernelState = 'starting' | 'ready' | 'draining' | 'stopped'

export interface DegradedPlugin {
  readonly plugin: string
  /** The message of the error that its `start` failed with. */
  readonly error: string
}

/** `builtin` and `contrib` are parts of this installation. */
export type PluginOrigin = 'builtin' | 'contrib' | 'external'

export interface PluginIdentity {
  readonly name: string
  readonly version: string
  /** Empty where the plugin has none. */
  readonly description: string
  readonly origin: PluginOrigin
  /** Plugins whose services it requires, or uses if they are loaded. */
  readonly dependsOn: readonly string[]
  /** Milliseconds that its start took in this thread; undefined until then. */
  readonly startMs: number | undefined
}

/** One extension point with its owner and its contributions: the data of the generated reference. */
export interface PointDescription {
  readonly name: string
  readonly owner: string
  readonly cardinality: 'one' | 'many'
  /** Schema of a contribution. */
  readonly schema: TSchema
  readonly contributions: readonly { readonly id: string; readonly plugin: string }[]
}

/** Version and revision of the program. */
export interface Build {
  /** Version of the server, from package.json. */
  readonly version: string
  /** Revision of the sources; `unknown` if there is none. */
  readonly commit: string
  /** Build time, in the format of RFC 3339; `unknown` if the build has none. */
  readonly buildDate: string
}

export interface KernelService extends Build {
  /** Milliseconds since 1970 when this thread's kernel was created. */
  readonly startedAtMs: number
  /** Milliseconds that `drain` and `stop` of a plugin may take, unless it says otherwise. What takes longer has failed. */
  readonly stopTimeoutMs: number
  /** State of the whole process, in every thread. */
  state(): KernelState
  /** Plugins that failed to start and were allowed to (`onStartFailure: 'degrade'`), of all threads in the main thread. */
  degraded(): readonly DegradedPlugin[]
  /** Calls the listener with each new state. Returns the function that ends it. A listener must not throw. */
  onState(listener: (state: KernelState) => void): () => void
  /**
   * Calls the listener when the operator asks for files to be read again (SIGHUP), in every thread. Returns the function that ends it. A
   * listener must not throw.
   */
  onReload(listener: () => void): () => void
  /** In start order. */
  plugins(): readonly PluginIdentity[]
  /** Background workers of this thread. */
  workers(): readonly WorkerStatus[]
  /** Extension points with their contributions. Throws while plugins are still set up. */
  points(): readonly PointDescription[]
  /** Begins a graceful stop of the whole process, from any thread. Further calls do nothing. */
  requestStop(reason: string): void
  /** Requests that were not answered when the time of a stop was over, of this thread: the exit code of the process tells of them. */
  noteCutOff(requests: number): void
  /** Whether the process can be replaced by a new one of the same program in its place (`requestRestart`). */
  readonly canRestart: boolean
  /**
   * Problems for which the start after a stop would be refused, in sentences: of the configuration, which is read again, and of what
   * plugins can see while everything runs, with their names first. From any thread.
   */
  inspectRestart(): Promise<readonly string[]>
  /**
   * As `requestStop`; then the program begins anew in the same process: same id, arguments and environment. RangeError where
   * that cannot be done.
   */
  requestRestart(reason: string): void
  /** From the next line on. The level applies to this thread, the format to the process: it is set in the main thread. */
  configureLog(settings: { readonly level: LogLevel; readonly format: LogFormat }): void
  /**
   * Calls the listener with each line of the log from now on, as JSON with a newline: in the main thread those of all threads, in a worker
   * none. Returns the function that ends it. A listener must not throw and must not log.
   */
  watchLog(listener: (line: string) => void): () => void
  /** Adds a fact (an address, a mode) to the last start-up log line. Until the state is `ready`; no secrets. */
  announce(key: string, value: string | number | boolean): void
}

export interface CliIo {
  readonly stdout: NodeJS.WritableStream
  readonly stderr: NodeJS.WritableStream
  readonly env: Readonly<Record<string, string | undefined>>
}

interface CliCommandDeclaration {
  /** One line for the list of commands. */
  readonly summary: string
  /** The arguments after the command's name: `[--ready] [--certs-dir DIR]`. */
  readonly usage: string
  /** Complete command lines, beginning with `svc`. */
  readonly examples: readonly string[]
}

/** A command of `svc`, contributed to `cli.command` under its name. */
export interface CliCommand extends CliCommandDeclaration {
  /**
   * Runs it; resolves with the exit code (0 success, 1 failure, 2 wrong usage). Errors of `util.parseArgs` may be thrown:
   * they become a usage message and exit code 2. `--help` never arrives here.
   */
  run(argv: readonly string[], io: CliIo): Promise<number>
}

/**
 * A command as a plugin lists it. Plugins are set up but not started when it runs, and a plugin whose configuration is incomplete is left
 * out: a command works without services that its own plugin does not require.
 */
export interface CliCommandDefinition<Uses extends ServiceName> extends CliCommandDeclaration {
  readonly name: string
  /** Services that `run` needs. */
  readonly uses?: readonly Uses[]
  /** Like `run` of a CliCommand. */
  run(argv: readonly string[], io: CliIo, services: Pick<Services, Uses>): Promise<number>
}

export function defineCliCommand<const Uses extends ServiceName = never>(
  definition: CliCommandDefinition<Uses>,
): CliCommandDefinition<Uses> {
  return Object.freeze(definition)
}
