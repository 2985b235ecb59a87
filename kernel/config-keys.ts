/**
 * Configuration keys, derived from the TypeBox schemas of plugins. A key's schema may carry, beside what TypeBox knows:
 *
 *   variable         `SVC_ADDRESS`: then flag `--address` and file key `address` follow. Without it the key lives in the
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
import { Errors } from 'typebox/value'
import type { AnyPlugin } from './plugin.ts'
import { formatDuration, formatSize, parseDuration, parseSize } from './units.ts'

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

/** One row of the configuration reference. */
export interface ConfigurationRow {
  readonly plugin: string
  readonly variable: string
  readonly flag: string | undefined
  readonly fileKey: string | undefined
  /** What a value looks like: `size`, `duration`, `integer`, `json | text` for a choice. */
  readonly type: string
  /** As it would be written; undefined when there is none. */
  readonly default: string | undefined
  readonly required: boolean
  readonly description: string
  readonly secret: boolean
  readonly environmentOnly: boolean
}

interface Extensions {
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
    const schema = key.schema as Extensions
    return {
      plugin: key.plugin,
      variable: key.secret ? `${key.variable}(_FILE)` : key.variable,
      flag: key.flag === undefined ? undefined : `--${key.flag}`,
      fileKey: key.fileKey,
      type: key.type === 'choice' ? choices(schema).join(' | ') : key.type,
      default: schema.defaultText ?? writeValue(key, schema.default),
      required: key.required,
      description: schema.description ?? '',
      secret: key.secret,
      environmentOnly: key.environmentOnly,
    }
  })
}

/** A value as the operator would write it. */
function writeValue(key: ConfigurationKey, value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (Array.isArray(value)) return value.join(key.positional ? ' ' : ',')
  if (typeof value === 'number' && key.type === 'size') return formatSize(value)
  if (typeof value === 'number' && key.type === 'duration') return formatDuration(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function keyOf(plugin: string, property: string, schema: TSchema, listed: boolean): ConfigurationKey {
  const extensions = schema as Extensions
  const words = property.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
  const variable = extensions.variable ?? `SVC_${plugin}-${words}`.replaceAll('-', '_').toUpperCase()
  const flag = extensions.flag ?? variable.slice('SVC_'.length).replaceAll('_', '-').toLowerCase()
  const secret = extensions.secret === true
  const environmentOnly = extensions.environmentOnly === true
  const camelCase = flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
  const fileKey = extensions.variable === undefined ? `${plugin}.${property}` : camelCase
  return {
    plugin,
    property,
    variable,
    flag: secret || environmentOnly ? undefined : flag,
    fileKey: secret || environmentOnly || extensions.inFile === false ? undefined : fileKey,
    type: typeOf(extensions),
    schema,
    required: listed && extensions.default === undefined,
    secret,
    environmentOnly,
    positional: extensions.positional === true,
  }
}

function typeOf(schema: Extensions): KeyType {
  if (choices(schema).length > 0) return 'choice'
  if (schema.format === 'size' || schema.format === 'duration') return schema.format
  if (schema.type === 'array') return 'list'
  if (schema.type === 'integer' || schema.type === 'number' || schema.type === 'boolean') return schema.type
  return schema.type === 'string' ? 'string' : 'json'
}

function choices(schema: Extensions): readonly string[] {
  const values = schema.enum ?? schema.anyOf?.map(branch => branch.const) ?? []
  return values.every(value => typeof value === 'string') ? (values as string[]) : []
}

/** The value that a text stands for. Throws RangeError with a sentence without subject. */
export function parseText(key: ConfigurationKey, text: string): unknown {
  return parseAs(key.schema as Extensions, text, key.positional ? /\s+/ : /\s*,\s*/)
}

function parseAs(schema: Extensions, text: string, separator: RegExp): unknown {
  switch (typeOf(schema)) {
    case 'size':
      return parseSize(text)
    case 'duration':
      return parseDuration(text)
    case 'boolean':
      if (text !== 'true' && text !== 'false') throw new RangeError('must be true or false')
      return text === 'true'
    case 'integer':
      if (!/^-?\d{1,15}$/.test(text)) throw new RangeError('must be an integer')
      return Number(text)
    case 'number':
      if (!/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) throw new RangeError('must be a decimal number')
      return Number(text)
    case 'list': {
      const entries = text.trim().split(separator)
      return entries
        .filter(entry => entry !== '')
        .map(entry => parseAs((schema.items ?? {}) as Extensions, entry, separator))
    }
    case 'json':
      try {
        return JSON.parse(text)
      } catch {
        throw new RangeError('must be JSON')
      }
    default:
      return text
  }
}

/** What a value that is no text (from the file, or a default) stands for: sizes and durations may be written as text. */
export function convertValue(key: ConfigurationKey, value: unknown): unknown {
  if (typeof value === 'string' && (key.type === 'size' || key.type === 'duration')) return parseText(key, value)
  return value
}

/** What is wrong with a value, as sentences without subject that never repeat a secret. */
export function checkValue(key: ConfigurationKey, value: unknown): readonly string[] {
  const schema = key.schema as Extensions
  const shown = key.secret || typeof value === 'object' ? '' : `, not ${JSON.stringify(value)}`
  if (key.type === 'choice') {
    const allowed = choices(schema)
    return allowed.includes(value as string) ? [] : [`must be one of ${allowed.join(', ')}${shown}`]
  }
  const errors = Errors(key.schema, value).map(error => {
    const place = error.instancePath === '' ? '' : `entry ${error.instancePath.slice(1)} `
    return `${place}${error.message}${shown}`
  })
  if (errors.length > 0) return [...new Set(errors)]
  const problem = schema.check?.(value)
  return problem === undefined ? [] : [problem]
}
