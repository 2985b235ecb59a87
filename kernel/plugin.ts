/**
 * What a plugin is. A plugin is one object made by `definePlugin`: a name, the services it requires and provides, the
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

/** What one contribution to each point is. The kernel owns the first; plugins add theirs through declaration merging. */
export interface ExtensionPoints {
  'cli.command': CliCommand
}

/**
 * What a plugin may list in `contributes`, by the name of the point; `Uses` are the services that it has for its entries. The kernel
 * owns the first; owners of points add theirs through declaration merging.
 */
export interface Listed<Uses extends ServiceName> {
  'cli.command': CliCommandDefinition<Uses>
}

export type ServiceName = keyof Services & string
export type PointName = keyof ExtensionPoints & string

/** One thing that a plugin contributed to an extension point. */
export interface Contribution<T> {
  readonly id: string
  /** Name of the plugin that contributed it. */
  readonly plugin: string
  readonly value: T
}

/** What the owner of an extension point says of it. Contributions that are otherwise are refused when all plugins are set up. */
export interface PointDeclaration {
  /** How many contributions there may be, of all plugins together: at most one, or any number. */
  readonly cardinality: 'one' | 'many'
  /** Of a contribution; `Type.Function([], Type.Unknown())` stands for any function. */
  readonly schema: TSchema
  /** For points that plugins name in `contributes`: makes a contribution of an entry of their lists. */
  readonly listed?: ListedBinding
}

/** An entry of a list in `contributes`. Whatever else it holds is between the plugin and the owner of the point. */
export interface ListedEntry {
  /** Services that it needs; it is left out where one of them is not there. */
  readonly uses?: readonly string[]
}

export interface ListedBinding {
  /** Nothing else is taken: whoever asks what there is does not set plugins up. */
  readonly isRequired?: boolean
  /** The id of the contribution. */
  id(entry: never): string
  /** The contribution. The services are all those that the plugin has, and `kernel` and `ports`. */
  bind(entry: never, services: never): unknown
}

/** What everybody contributed to one point. Readable only after set-up: the arrays are frozen by then. */
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
  /** Adds a background worker: it runs from when all plugins of all threads serve until before this plugin's `drain`. Only during `setup`. */
  background(worker: BackgroundWorker): void
}

/** What a dry run has found. Sentences. */
export interface Findings {
  /** For each of these the start would be refused. */
  readonly problems?: readonly string[]
  /** What could not be looked at without changing something, so that the start may still be refused for it. */
  readonly notLookedAt?: readonly string[]
  /** What the start would do that is more than opening what is there: what it would make, and what it would go on without. */
  readonly plan?: readonly string[]
}

export interface PluginParts<Provided extends ServiceName, Internal extends ServiceName = never> {
  /** One implementation for each name in `provides`. */
  readonly services?: Pick<Services, Provided>
  /** For the entries of `contributes` alone: those of `internal`, and what stands for services in `optional` that are not there. */
  readonly internal?: Partial<Pick<Services, Internal>>
  /**
   * Instead of `start`, for `server --dry-run`: looks with I/O for what `start` and `serve` would refuse (permissions, free ports,
   * readable files) and would do. Changes nothing, leaves nothing open. Runs in dependency order, after the set-up of all plugins;
   * services may be used as far as they say so themselves. A throw is a problem.
   */
  inspect?(): Promise<Findings> | Findings
  /** Opens what is ours: drives, queues, timers. Never waits for a remote host. Runs in dependency order. */
  start?(): Promise<void> | void
  /** Begins to accept work from outside. Runs when every plugin of every thread has started. */
  serve?(): Promise<void> | void
  /** Stops accepting work and waits for what is in flight. Runs in reverse order, before the first `stop`. */
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
  /** A sentence for operators: what they have by it. */
  readonly description?: string
  /** Services that must be there; they are set up and started before this plugin. */
  readonly requires?: readonly Required[]
  /** Services that may be missing; where their plugin is loaded it is set up and started before this one, as with `requires`. */
  readonly optional?: readonly Optional[]
  readonly provides?: readonly Provided[]
  /** Services that it makes for the entries of `contributes` alone; other plugins do not get them. */
  readonly internal?: readonly Internal[]
  /** Extension points that this plugin owns. */
  readonly points?: Readonly<Record<Owned, PointDeclaration>>
  /**
   * Contributions that can be told without set-up, by the point. The owner of the point binds each to the services of this plugin. What is
   * for a point that no loaded plugin owns is left out.
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
   * Checks across keys that need no I/O: one sentence per problem, naming the key. Each key holds by itself already. Not a part of
   * `inspect`, because it runs before every set-up, which relies on a configuration that holds, and what it finds is told with all
   * other problems of the configuration.
   */
  validate?(config: ObjectOf<Schema>): readonly string[]
  setup(
    context: PluginContext<ObjectOf<Schema>, Required, Owned, Optional>,
  ): PluginParts<Provided, Internal | Optional> | undefined | void
}

/** Any plugin, whatever its types: what a list of plugins holds. */
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
