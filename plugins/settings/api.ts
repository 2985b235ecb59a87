/**
 * Settings: values that operators change at run time, in the whole deployment at once. Settings are grouped in *subsystems* (`logger`,
 * `api`, `notify_webhook`), each declared by the plugin that uses it. Validation, masking, the schema, and the operations under `/config`
 * use the declaration. Values that need a restart belong to the configuration instead.
 */
import type { MaybePromise, ObjectOf } from 'svc/kernel'
import type { TObject } from 'typebox'

export { settingsErrors } from './errors.ts'
/** The text that replaces a secret in answers; in a request it keeps the stored secret. */
export { ImportResult } from './import-result.ts'
export { completeFields, type FieldSchema, type KindFields, kindFields } from './kind-fields.ts'
export { queueLimitDefault } from './target.ts'

export const maskedValue = '*REDACTED*'

/** The id of a subsystem that may exist several times, if the name has none: `notify_webhook` is `notify_webhook:_`. */
export const defaultSubsystemId = '_'

export interface SettingsProblem {
  readonly key: string
  /** A sentence that begins with a lower-case letter and follows the name of the key: `must be an absolute URL`. Without secrets. */
  readonly problem: string
}

export interface SubsystemDeclaration<Schema extends TObject> {
  /** One sentence. */
  readonly description: string
  /**
   * One property per key, in snake_case, each with `description` and `default`: strings, booleans, integers, unions of literal strings.
   * `format: 'duration' | 'size' | 'list'` accepts `5s`, `64MiB` and `a,b` like the configuration. `secret: true` is sealed at rest and
   * masked in answers. `secretQuery: true` does that to user, password and query of a URL, and seals one that has a path. `destination: true` is for keys that determine
   * where secrets of the subsystem are sent, or how the connection is protected (address, TLS): a change of such a key drops stored
   * secrets, which have to be sent again in the same request. Beside a `pattern`, `errorMessage` says what it wants. Operators write every value as a string (`on` and `off` for booleans).
   */
  readonly keys: Schema
  /** May exist several times, by id (`notify_webhook:backup`). Default: once. */
  readonly isMultiple?: boolean
  /** Its secrets are sent to another server: a schema with secrets but without a `destination` is a defect. */
  readonly isTarget?: boolean
  /** A change takes effect without a restart. Default true. */
  readonly isApplied?: boolean
  /** Keys that take effect only after a restart, although others take effect at once. */
  readonly notApplied?: readonly string[]
  /** Checks beyond the schema. Nothing is stored while there is a problem. */
  validate?(values: ObjectOf<Schema>, id: string): readonly SettingsProblem[]
  /** Why the subsystem may not be removed now, as a sentence (`conflict`); undefined if it may. */
  removalProblem?(id: string): MaybePromise<string | undefined>
}

/** The values that all targets have, in addition to the keys of their kind. */
export interface TargetValues {
  readonly enable: boolean
  readonly queue_limit: number
  readonly queue_dir: string
  readonly comment: string
  readonly [key: string]: unknown
}

/** A destination of deliveries. There may be several, each with its own queue. */
export interface TargetDeclaration {
  /** One sentence. */
  readonly description: string
  /** The keys of its kind, like `SubsystemDeclaration.keys`. */
  readonly keys: TObject
  /** Descriptions of `enable` and `queue_limit`, and the plural of its entries: `events`. */
  readonly about: { readonly enable: string; readonly queueLimit: string; readonly what: string }
  /** Called for enabled targets only. */
  validate?(values: TargetValues, id: string): readonly SettingsProblem[]
  removalProblem?(id: string): MaybePromise<string | undefined>
}

/** The values of one subsystem. All keys are present, with their defaults. Frozen. */
export interface Settings<Values> {
  /**
   * As of the last acknowledged change of any thread; a subsystem that was not set has its defaults. Without a promise in the main thread.
   */
  get(id?: string): MaybePromise<Values>
  /** The subsystems that were set, by id. */
  list(): MaybePromise<readonly { readonly id: string; readonly values: Values }[]>
  /**
   * Why the stored values cannot be read, so that defaults replace them; undefined if they can, or if nothing is stored. For callers to
   * whom a default means more rights than the stored value.
   */
  problem(id?: string): MaybePromise<string | undefined>
  /** Calls the listener of this thread soon after the values of an id may have changed. Returns a function that ends the watch. */
  watch(listener: (id: string) => void): () => void
}

/** One subsystem in answers: all keys, values as text, secrets masked. */
export interface ShownSubsystem {
  /** `logger`, `notify_webhook`, `notify_webhook:backup` */
  readonly name: string
  readonly settings: Readonly<Record<string, string>>
  /** For settings whose plugin is not loaded: the plugin, and that they have no effect. */
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
    /** The default as text; masked for a secret. */
    readonly default: string
    /** Values of a `choice` or a `boolean`; otherwise empty. */
    readonly values: readonly string[]
    readonly sensitive: boolean
    readonly applied: boolean
  }[]
}

/** The settings of subsystems by name, for imports, exports and replacements. */
export type SettingsMap = Readonly<Record<string, Readonly<Record<string, string>>>>

export interface SettingsImport {
  /** Number of subsystems in the map. */
  readonly subsystems: number
  /** Subsystems with other values, and their keys that differ. */
  readonly changed: readonly (readonly [name: string, keys: readonly string[]])[]
  /** Subsystems that `replace` removed, because they are not in the map, and their keys that were set. */
  readonly removed: readonly (readonly [name: string, keys: readonly string[]])[]
}

/**
 * Operations on the settings of all plugins. A change is validated as a whole before anything is stored. Rejects with `invalid_argument`
 * and all problems, with `subsystem_not_found`, and with `conflict` for subsystems that may not be removed.
 */
export interface SettingsAdministration {
  /** By name: all declared subsystems (those with ids only if they were set), and stored ones of plugins that are not loaded. */
  show(): Promise<readonly ShownSubsystem[]>
  /** The same with the ETag of everything that was set, which `apply` compares: 32 hexadecimal digits. */
  read(): Promise<{ readonly subsystems: readonly ShownSubsystem[]; readonly etag: string }>
  showOne(name: string): Promise<ShownSubsystem>
  /** Of what was set of one subsystem, which `update` compares: 32 hexadecimal digits. */
  etag(name: string): Promise<string>
  describe(): readonly SubsystemDescription[]
  /**
   * Merges; null resets a key. Resolves with those of the keys that take effect only after a restart, or not at all. Rejects with
   * `precondition_failed` where the subsystem has another ETag than `ifMatch`, or gets one meanwhile.
   */
  update(
    name: string,
    settings: Readonly<Record<string, string | null>>,
    options?: { readonly ifMatch?: string | undefined },
  ): Promise<ShownSubsystem & { readonly notApplied: readonly string[] }>
  /** Resets these keys, or removes the whole subsystem. */
  reset(name: string, keys?: readonly string[]): Promise<void>
  /**
   * Applies all settings in one change: `merge` keeps keys that are not in the map, `replace` removes them. With `isDryRun` only returns
   * the result. A default value of a key that was not set stays unset. Rejects with `precondition_failed` where the configuration has
   * another ETag than `ifMatch`, or gets one meanwhile.
   */
  apply(
    map: SettingsMap,
    mode: 'merge' | 'replace',
    options?: { readonly isDryRun?: boolean; readonly ifMatch?: string | undefined },
  ): Promise<SettingsImport>
  /** All values that were set. Secrets are masked unless `withSecrets`. */
  export(withSecrets: boolean): Promise<SettingsMap>
  /** Those values that hold no secret, neither as a whole nor in a part: what may stand in a file as it is. */
  exportOpen(): Promise<SettingsMap>
}

export interface SettingsService {
  readonly administration: SettingsAdministration
  /** Declares a subsystem, in every thread, once per name: during set-up, or while plugins start. */
  declare<Schema extends TObject>(name: string, declaration: SubsystemDeclaration<Schema>): Settings<ObjectOf<Schema>>
  /** The same for a target, with `enable`, `queue_limit`, `queue_dir` and `comment` in addition to the keys of its kind. */
  declareTarget(name: string, declaration: TargetDeclaration): Settings<TargetValues>
}

declare module 'svc/kernel' {
  interface Services {
    settings: SettingsService
  }
}
