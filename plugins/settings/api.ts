/**
 * Settings: what operators change while the server runs, in the whole deployment at once. Settings are grouped in *subsystems*
 * (`logger`, `api`, `notify_webhook`), each declared by the plugin whose business it is; from the declaration come validation,
 * masking, the schema, and the operations under `/config`. What needs a restart is no setting but configuration.
 */
import type { MaybePromise, ObjectOf } from 'svc/kernel'
import type { TObject } from 'typebox'

export { settingsErrors } from './errors.ts'
/** What is shown instead of a secret; sent back it keeps the secret that is stored. */
export { ImportResult } from './import-result.ts'
export { queueLimitDefault } from './target.ts'

export const maskedValue = '*REDACTED*'

/** The id of a subsystem that may exist several times and whose name came without one: `notify_webhook` is `notify_webhook:_`. */
export const defaultSubsystemId = '_'

export interface SettingsProblem {
  readonly key: string
  /** A sentence that begins with a lower-case letter and follows the name of the key: `must be an absolute URL`. No secret in it. */
  readonly problem: string
}

export interface SubsystemDeclaration<Schema extends TObject> {
  /** One sentence. */
  readonly description: string
  /**
   * One property per key, in snake_case, each with `description` and `default`: strings, booleans, integers, unions of literal
   * strings. `format: 'duration' | 'size' | 'list'` reads `5s`, `64MiB` and `a,b` as configuration does. `secret: true` is sealed at
   * rest and masked wherever it is shown. `secretQuery: true` does that to user, password and query of a URL. `destination: true` is for
   * keys that say where secrets of the subsystem are sent, or who can read them on the way (address, TLS): while one of them changes, no
   * stored secret is kept, but has to be given again. Operators write every value as a string (`on` and `off` for booleans).
   */
  readonly keys: Schema
  /** May exist several times, by id (`notify_webhook:backup`). Default: once. */
  readonly isMultiple?: boolean
  /** Its secrets are for somebody else: a schema with secrets and without a `destination` is a defect. */
  readonly isTarget?: boolean
  /** A change takes effect without a restart. Default true. */
  readonly isApplied?: boolean
  /** Keys that a change of does not take effect without a restart, where others do. */
  readonly notApplied?: readonly string[]
  /** What a schema cannot say. Nothing is stored while there is a problem. */
  validate?(values: ObjectOf<Schema>, id: string): readonly SettingsProblem[]
  /** Why a subsystem may not be removed now, as a sentence (`conflict`); undefined where it may. */
  removalProblem?(id: string): MaybePromise<string | undefined>
}

/** What every target has beside the keys of its kind. */
export interface TargetValues {
  readonly enable: boolean
  readonly queue_limit: number
  readonly queue_dir: string
  readonly comment: string
  readonly [key: string]: unknown
}

/** A destination that something is delivered to, of which there may be several, each with a queue of its own. */
export interface TargetDeclaration {
  /** One sentence. */
  readonly description: string
  /** Of its kind, as `SubsystemDeclaration.keys`. */
  readonly keys: TObject
  /** Descriptions of `enable` and `queue_limit`, and what waits: `events`. */
  readonly about: { readonly enable: string; readonly queueLimit: string; readonly what: string }
  /** Only of targets that are enabled. */
  validate?(values: TargetValues, id: string): readonly SettingsProblem[]
  removalProblem?(id: string): MaybePromise<string | undefined>
}

/** The values of one subsystem. Defaults are filled in: every key is there. Frozen. */
export interface Settings<Values> {
  /** As of the last acknowledged change of any thread; a subsystem that nobody has set has its defaults. At once in the main thread. */
  get(id?: string): MaybePromise<Values>
  /** Those that somebody has set, by id. */
  list(): MaybePromise<readonly { readonly id: string; readonly values: Values }[]>
  /**
   * Why what is stored cannot be read, so that defaults stand in its place; undefined where it can, and where nothing is stored. For
   * whom a default means more rights than what was stored.
   */
  problem(id?: string): MaybePromise<string | undefined>
  /** Tells this thread of the id whose values may have changed, soon after. Returns what ends it. */
  watch(listener: (id: string) => void): () => void
}

/** One subsystem as operators see it: every key, values as text, secrets masked. */
export interface ShownSubsystem {
  /** `logger`, `notify_webhook`, `notify_webhook:backup` */
  readonly name: string
  readonly settings: Readonly<Record<string, string>>
  /** Of what no loaded plugin declares: which plugin would, and that it has no effect. */
  readonly warning?: string
}

export interface SubsystemDescription {
  readonly name: string
  readonly description: string
  readonly multiple: boolean
  readonly keys: readonly {
    readonly name: string
    /** `string`, `integer`, `boolean`, `list`, `size`, `duration`, `choice` */
    readonly type: string
    readonly description: string
    /** As text; masked where it is a secret. */
    readonly default: string
    /** Of a `choice` and of a `boolean`, otherwise empty. */
    readonly values: readonly string[]
    readonly sensitive: boolean
    readonly applied: boolean
  }[]
}

/** The settings of subsystems by their names: what is imported, exported and replaced. */
export type SettingsMap = Readonly<Record<string, Readonly<Record<string, string>>>>

export interface SettingsImport {
  /** How many subsystems the map has. */
  readonly subsystems: number
  /** What `replace` removed, because the map does not have it. By name. */
  readonly removed: readonly string[]
}

/**
 * What operators do with settings, whoever declared them. Changes are validated whole before anything is stored; rejects with
 * `invalid_argument` and everything that is wrong, with `subsystem_not_found`, and with `conflict` for what may not be removed.
 */
export interface SettingsAdministration {
  /** By name: all that are declared (those that may exist several times: that are set), and what is stored of others. */
  show(): Promise<readonly ShownSubsystem[]>
  showOne(name: string): Promise<ShownSubsystem>
  describe(): readonly SubsystemDescription[]
  /** Merges; null resets a key. Resolves with the keys among them that take effect only after a restart, or not at all. */
  update(
    name: string,
    settings: Readonly<Record<string, string | null>>,
  ): Promise<ShownSubsystem & { readonly notApplied: readonly string[] }>
  /** Resets these keys, or removes all that is set. */
  reset(name: string, keys?: readonly string[]): Promise<void>
  /**
   * One change of all: `merge` keeps what the map does not have, `replace` removes it. With `isDryRun` only says what would be. What
   * has its default and is not set stays so.
   */
  apply(map: SettingsMap, mode: 'merge' | 'replace', options?: { readonly isDryRun?: boolean }): Promise<SettingsImport>
  /** What somebody has set. Secrets are masked unless `withSecrets`. */
  export(withSecrets: boolean): Promise<SettingsMap>
}

export interface SettingsService {
  readonly administration: SettingsAdministration
  /** Declares a subsystem, in every thread, once per name: during set-up, or while plugins start. */
  declare<Schema extends TObject>(name: string, declaration: SubsystemDeclaration<Schema>): Settings<ObjectOf<Schema>>
  /** The same for a target, with `enable`, `queue_limit`, `queue_dir` and `comment` beside the keys of its kind. */
  declareTarget(name: string, declaration: TargetDeclaration): Settings<TargetValues>
}

declare module 'svc/kernel' {
  interface Services {
    settings: SettingsService
  }
}
