/**
 * Definition of a plugin. A plugin is one object made by `definePlugin`: a name, the services it requires and provides, the
 * extension points it owns, a configuration schema, and a `setup` that wires it. Services and extension points are typed
 * by declaration merging:
 *
 *     declare module 'svc/kernel' {
 *       interface Services { notify: NotifyService }
 *       interface ExtensionPoints { 'notify.target': NotifyTargetFactory }
 *     }
 *
 * Life of a plugin: `setup` (synchronous, no I/O) -> points freeze -> `start` -> `serve` -> … -> `drain` -> `stop`.
 */
import type { Static, TObject, TSchema } from 'typebox'
import type { CliCommand, CliCommandDefinition, KernelService } from './kernel-service.ts'
import type { Logger } from './log.ts'
import type { Ports } from './ports.ts'
import type { Threads } from './threads/threads.ts'
import type { BackgroundWorker } from './worker.ts'

/** Services by name. The kernel provides the first two; plugins add theirs through declaration merging. */
export interface Services {
  kernel: KernelService
  ports: Ports
}

/** The type of a contribution to each point. The kernel owns the first; plugins add theirs through declaration merging. */
export interface ExtensionPoints {
  'cli.command': CliCommand
}

/**
 * The contributions that a plugin may list in `contributes`, by the name of the point; `Uses` are the services that its entries get. The kernel
 * owns the first; owners of points add theirs through declaration merging.
 */
export interface Listed<Uses extends ServiceName> {
  'cli.command': CliCommandDefinition<Uses>
}

export type ServiceName = keyof Services & string
export type PointName = keyof ExtensionPoints & string

/** One contribution of a plugin to an extension point. */
export interface Contribution<T> {
  readonly id: string
  /** Name of the plugin that contributed it. */
  readonly plugin: string
  readonly value: T
}

/** The declaration of an extension point by its owner. Contributions that violate it are refused when all plugins are set up. */
export interface PointDeclaration {
  /** How many contributions there may be, of all plugins together: at most one, or any number. */
  readonly cardinality: 'one' | 'many'
  /** Schema of a contribution; `Type.Function([], Type.Unknown())` stands for any function. */
  readonly schema: TSchema
  /** For points that plugins name in `contributes`: makes a contribution of an entry of their lists. */
  readonly listed?: ListedBinding
}

/** An entry of a list in `contributes`. Its other fields are defined by the owner of the point. */
export interface ListedEntry {
  /** Services that it needs; it is left out if one of them is not loaded. */
  readonly uses?: readonly string[]
}

export interface ListedBinding {
  /** No other parameters: listings of contributions do not set plugins up. */
  readonly isRequired?: boolean
  /** The id of the contribution. */
  id(entry: never): string
  /** The contribution. The services are all those that the plugin has, and `kernel` and `ports`. */
  bind(entry: never, services: never): unknown
}

/** All contributions to one point. Readable only after set-up: the arrays are frozen by then. */
export interface Point<T> {
  /** All contributions, in plugin order and then in order of contribution. Throws while plugins are still set up. */
  list(): readonly Contribution<T>[]
  /** The contribution with this id, or undefined. Throws while plugins are still set up. */
  get(id: string): T | undefined
}

export interface PluginContext<
  Config,
  Required extends ServiceName,
  Owned extends PointName,
  Optional extends ServiceName = never,
> {
  /** The plugin's own section of the configuration: validated, defaults filled in, frozen. */
  readonly config: Config
  readonly log: Logger
  /**
   * Exactly the services named in `requires`, and those named in `optional` whose plugin is loaded; frozen. Their methods may be
   * called from `start` on.
   */
  readonly services: Readonly<Pick<Services, Required> & Partial<Pick<Services, Optional>>>
  readonly ports: Ports
  /** The thread this instance of the plugin runs in, and the way to its instances in the other threads. */
  readonly threads: Threads
  /**
   * Adds to an extension point of this or another plugin. An id may be taken once per point. Only during `setup`. Where no loaded
   * plugin owns the point the start is refused; a contribution that is `optional` is dropped instead.
   */
  contribute<P extends PointName>(
    point: P,
    id: string,
    value: ExtensionPoints[P],
    options?: { readonly optional?: boolean },
  ): void
  /** An extension point that this plugin owns (named in `points`). */
  point<P extends Owned>(name: P): Point<ExtensionPoints[P]>
  /** Adds a background worker: it runs from when all plugins of its thread serve, in the main thread those of all threads, until before this plugin's `drain`. Only during `setup`. */
  background(worker: BackgroundWorker): void
}

/** The result of a dry run, in sentences. */
export interface Findings {
  /** Problems for which the start would be refused. */
  readonly problems?: readonly string[]
  /** Checks that need changes and were therefore skipped; the start may still be refused for them. */
  readonly notLookedAt?: readonly string[]
  /** Notable effects of the start: what it would create, and what it would run without. */
  readonly plan?: readonly string[]
}

// biome-ignore lint/suspicious/noExplicitAny: the section of any plugin
export interface PluginParts<Provided extends ServiceName, Internal extends ServiceName = never, Section = any> {
  /** One implementation for each name in `provides`. */
  readonly services?: Pick<Services, Provided>
  /** For the entries of `contributes` alone: the services in `internal`, and replacements for services in `optional` that are not loaded. */
  readonly internal?: Partial<Pick<Services, Internal>>
  /**
   * Instead of `start`, for `server --dry-run`: checks with I/O what `start` and `serve` would refuse (permissions, free ports,
   * readable files) and would do. Changes nothing, leaves nothing open. Runs in dependency order, after the set-up of all plugins;
   * services may be used only as far as their own documentation allows. A throw is a problem.
   */
  inspect?(): Promise<Findings> | Findings
  /**
   * Before a restart, while the plugin runs in the main thread: the checks of `inspect` that hold then as well. Ports, locks and folders
   * that the plugin itself has taken are none of them. `next` is the plugin's section as the next start will read it; where it has
   * problems, or the plugin will not be loaded, this is not called.
   */
  inspectRestart?(next: Section): Promise<Findings> | Findings
  /** Opens the plugin's own resources: drives, queues, timers. Never waits for a remote host. Runs in dependency order. */
  start?(): Promise<void> | void
  /** Begins to accept work from outside. Runs when every plugin of every thread has started. */
  serve?(): Promise<void> | void
  /** Stops accepting work and waits for running work. Runs in reverse order, before the first `stop`. */
  drain?(): Promise<void> | void
  /** Undoes `start`. Runs in reverse order, also when `start` failed half-way; must be idempotent. */
  stop?(): Promise<void> | void
}

/**
 * The object that a schema describes, for types with the schema as a parameter. The compiler leaves the condition alone until it knows the
 * schema; for `Static<Schema>` it works out every kind of schema, which costs each check of a plugin seconds.
 */
export type ObjectOf<Schema extends TObject> =
  // Lists of plugins, kinds and the like have `any` for a schema: its object is any, too.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  0 extends 1 & Schema ? any : Schema extends TObject<infer Properties> ? Static<TObject<Properties>> : never

export interface PluginDefinition<
  Schema extends TObject = TObject,
  Required extends ServiceName = ServiceName,
  Provided extends ServiceName = ServiceName,
  Owned extends PointName = PointName,
  Optional extends ServiceName = ServiceName,
  Internal extends ServiceName = ServiceName,
> {
  /** kebab-case; equals the folder, the log field, the metric subsystem and the configuration section. */
  readonly name: string
  readonly version?: string
  /** A sentence for operators: the purpose of the plugin. */
  readonly description?: string
  /** Services that must be there; they are set up and started before this plugin. */
  readonly requires?: readonly Required[]
  /** Services that may be missing; where their plugin is loaded it is set up and started before this one, as with `requires`. */
  readonly optional?: readonly Optional[]
  readonly provides?: readonly Provided[]
  /** Services for the entries of `contributes` alone; other plugins do not get them. */
  readonly internal?: readonly Internal[]
  /** Extension points that this plugin owns. */
  readonly points?: Readonly<Record<Owned, PointDeclaration>>
  /**
   * Contributions that are known without set-up, by the point. The owner of the point binds each to the services of this plugin. Contributions
   * to a point that no loaded plugin owns are left out.
   */
  readonly contributes?: {
    readonly [P in keyof Listed<never>]?: readonly Listed<
      Required | Provided | Optional | Internal | 'kernel' | 'ports'
    >[P][]
  }
  readonly config?: Schema
  /** Milliseconds that `start` may take. */
  readonly startTimeoutMs?: number
  /** Milliseconds that `drain` and `stop` may take, each. */
  readonly stopTimeoutMs?: number
  /** `degrade` lets the server start without this plugin when its `start` fails. Default `abort`. */
  readonly onStartFailure?: 'abort' | 'degrade'
  /**
   * Checks across keys that need no I/O: one sentence per problem, naming the key. Each key is already valid by itself. Not a part of
   * `inspect`, because it runs before every set-up, which relies on a valid configuration, and its problems are reported with all
   * other problems of the configuration.
   */
  validate?(config: ObjectOf<Schema>): readonly string[]
  setup(
    context: PluginContext<ObjectOf<Schema>, Required, Owned, Optional>,
  ): PluginParts<Provided, Internal | Optional, ObjectOf<Schema>> | undefined | void
}

/** A plugin of any type: the element of a list of plugins. */
// biome-ignore lint/suspicious/noExplicitAny: the one place where plugins of different types meet
export type AnyPlugin = PluginDefinition<any, any, any, any, any, any>

/** Declares a plugin; returns it frozen, with its types inferred. */
export function definePlugin<
  Schema extends TObject,
  const Required extends ServiceName = never,
  const Provided extends ServiceName = never,
  const Owned extends PointName = never,
  const Optional extends ServiceName = never,
  const Internal extends ServiceName = never,
>(definition: PluginDefinition<Schema, Required, Provided, Owned, Optional, Internal>): AnyPlugin {
  return Object.freeze(definition) as AnyPlugin
}
