/**
 * Configuration keys, derived from the TypeBox schemas of plugins. In addition to TypeBox' own keywords, a key's schema may have:
 *
 *   variable         `SVC_ADDRESS`: then flag `--address` and file key `address` follow. One that other programs read too, such as
 *                    `OTEL_EXPORTER_OTLP_HEADERS`, is `environmentOnly` or `secret`. Without it the key lives in the
 *                    plugin's section of the file, as `SVC_<PLUGIN>_<KEY>` and `--<plugin>-<key>`.
 *   format           `size` and `duration` are parsed to bytes and milliseconds; other formats are documentation.
 *   secret           only from the environment or the file named by `<VARIABLE>_FILE`; never shown.
 *   environmentOnly  only from the environment.
 *   positional       taken from the arguments of the command line; separated by spaces in the environment.
 *   flag, inFile     another flag name; `inFile: false` keeps the key out of the file.
 *   defaultText      the default in words, where the value depends on the machine.
 *   check            (value) => a sentence without subject ("must be an absolute path"), or undefined when it is fine.
 */
import type { TSchema } from 'typebox'
import type { AnyPlugin } from '../plugin.ts'
import { formatDuration, formatSize } from './units.ts'

export type KeyType = 'string' | 'integer' | 'number' | 'boolean' | 'list' | 'size' | 'duration' | 'choice' | 'json'

export interface ConfigurationKey {
  readonly plugin: string
  /** Property in the plugin's section. */
  readonly property: string
  readonly variable: string
  /** Without dashes; undefined where no flag is allowed. */
  readonly flag: string | undefined
  /** `address`, or `section.property`; undefined where the file may not hold it. */
  readonly fileKey: string | undefined
  readonly type: KeyType
  readonly schema: TSchema
  readonly required: boolean
  readonly secret: boolean
  readonly environmentOnly: boolean
  readonly positional: boolean
}

type RowFacts = 'plugin' | 'variable' | 'flag' | 'fileKey' | 'required' | 'secret' | 'environmentOnly'

/** One row of the configuration reference, with names as they are written there. */
export interface ConfigurationRow extends Pick<ConfigurationKey, RowFacts> {
  /** The form of a value: `size`, `duration`, `integer`, `json | text` for a choice. */
  readonly type: string
  /** The default as an operator would write it; undefined if there is none. */
  readonly default: string | undefined
  readonly description: string
}

/** The additional keywords of a key's schema; see above. */
export interface KeySchema {
  readonly type?: string
  readonly anyOf?: readonly { readonly const?: unknown }[]
  readonly enum?: readonly unknown[]
  readonly items?: TSchema
  readonly format?: string
  readonly default?: unknown
  readonly defaultText?: string
  readonly description?: string
  readonly variable?: string
  readonly flag?: string
  readonly inFile?: boolean
  readonly secret?: boolean
  readonly environmentOnly?: boolean
  readonly positional?: boolean
  readonly pattern?: string
  /** Beside `pattern`: what the value must be, as a sentence without subject. */
  readonly errorMessage?: string
  readonly check?: (value: unknown) => string | undefined
}

/** Every key of these plugins. Throws TypeError when two keys claim one name: that is a defect of a plugin. */
export function configurationKeys(plugins: readonly Pick<AnyPlugin, 'name' | 'config'>[]): readonly ConfigurationKey[] {
  const keys: ConfigurationKey[] = []
  const claimed = new Map<string, ConfigurationKey>()
  for (const plugin of plugins) {
    const required: readonly string[] = plugin.config?.required ?? []
    for (const [property, schema] of Object.entries((plugin.config?.properties ?? {}) as Record<string, TSchema>)) {
      const key = keyOf(plugin.name, property, schema, required.includes(property))
      const other = claimed.get(key.variable)
      // Several plugins may read one key when they declare it by the same schema object.
      if (other !== undefined && other.schema !== schema) {
        throw new TypeError(`${key.variable} is declared by both "${other.plugin}" and "${plugin.name}"`)
      }
      claimed.set(key.variable, key)
      keys.push(key)
    }
  }
  return keys
}

/** The data of the configuration reference, in the order of plugins and of their schemas. */
export function describeConfiguration(plugins: readonly Pick<AnyPlugin, 'name' | 'config'>[]): ConfigurationRow[] {
  return configurationKeys(plugins).map(key => {
    const { property: _property, positional: _positional, schema, type, ...names } = key
    const { defaultText, default: fallback, description = '' } = schema as KeySchema
    return {
      ...names,
      variable: key.secret ? `${key.variable}(_FILE)` : key.variable,
      flag: key.flag === undefined ? undefined : `--${key.flag}`,
      type: type === 'choice' ? choices(schema as KeySchema).join(' | ') : type,
      default: defaultText ?? writeValue(key, fallback),
      description,
    }
  })
}

/** A value as the operator would write it; undefined when there is none. */
export function writeValue(key: ConfigurationKey, value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (Array.isArray(value)) return value.join(key.positional ? ' ' : ',')
  if (typeof value === 'number' && key.type === 'size') return formatSize(value)
  if (typeof value === 'number' && key.type === 'duration') return formatDuration(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function keyOf(plugin: string, property: string, schema: TSchema, listed: boolean): ConfigurationKey {
  const facts = schema as KeySchema
  const { secret = false, environmentOnly = false, positional = false, inFile = true } = facts
  const words = property.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
  const variable = facts.variable ?? `SVC_${plugin}-${words}`.replaceAll('-', '_').toUpperCase()
  const flag = facts.flag ?? flagOf(variable)
  const fileKey = facts.variable === undefined ? `${plugin}.${property}` : camelCase(flag)
  const isHidden = secret || environmentOnly
  return {
    plugin,
    property,
    variable,
    flag: isHidden ? undefined : flag,
    fileKey: isHidden || !inFile ? undefined : fileKey,
    type: typeOf(facts),
    schema,
    required: listed && facts.default === undefined,
    secret,
    environmentOnly,
    positional,
  }
}

/** Without dashes. */
export function flagOf(variable: string): string {
  return variable.replace(/^SVC_/, '').replaceAll('_', '-').toLowerCase()
}

export function camelCase(flag: string): string {
  return flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}

/** The kind of value that a schema describes. */
export function typeOf(schema: KeySchema): KeyType {
  if (choices(schema).length > 0) return 'choice'
  if (schema.format === 'size' || schema.format === 'duration') return schema.format
  if (schema.type === 'array') return 'list'
  if (schema.type === 'integer' || schema.type === 'number' || schema.type === 'boolean') return schema.type
  return schema.type === 'string' ? 'string' : 'json'
}

/** The allowed texts of an enumeration; empty for any other schema. */
export function choices(schema: KeySchema | undefined): readonly string[] {
  const values = schema?.enum ?? schema?.anyOf?.map(branch => branch.const) ?? []
  return values.every(value => typeof value === 'string') ? (values as string[]) : []
}
