/** A declared subsystem: its keys, and the conversion of its values from and to text. Operators write every value as text. */
import { type ConfigurationKey, checkValue, configurationKeys, parseText, writeValue } from 'svc/kernel'
import type { TObject } from 'typebox'
import type { SubsystemDeclaration } from './api.ts'

const namePattern = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/
/** Maximum size of one value: enough for a chain of certificates. */
const valueBytesMax = 65_536
/** These names are parts of paths under `/config`. */
export const reservedNames: ReadonlySet<string> = new Set(['schema', 'export', 'import'])

export type Values = Readonly<Record<string, unknown>>

export interface SubsystemKey {
  readonly name: string
  readonly configuration: ConfigurationKey
  readonly isSecret: boolean
  /** A URL whose user, password and query are masked. */
  readonly hasSecretQuery: boolean
  /** Determines where the secrets of the subsystem are sent, or how the connection is protected. */
  readonly isDestination: boolean
  readonly isApplied: boolean
  readonly default: unknown
  readonly defaultText: string
}

export interface Subsystem {
  readonly name: string
  readonly declaration: SubsystemDeclaration<TObject>
  readonly isMultiple: boolean
  readonly keys: ReadonlyMap<string, SubsystemKey>
  readonly defaults: Values
  /** The listeners of this thread. */
  readonly listeners: Set<(id: string) => void>
}

interface KeyFacts {
  readonly default?: unknown
  readonly description?: string
  readonly secretQuery?: boolean
  readonly destination?: boolean
  readonly pattern?: string
  readonly errorMessage?: string
}

/** The value of a text, and its stored form; or the problem: a sentence without subject and secrets. */
export type Parsed = { readonly value: unknown; readonly text: string } | { readonly problem: string }

/** Throws TypeError for an invalid declaration, which is a defect of its plugin. */
export function createSubsystem(name: string, declaration: SubsystemDeclaration<TObject>): Subsystem {
  if (!namePattern.test(name) || reservedNames.has(name)) {
    throw new TypeError(`settings: ${JSON.stringify(name)} cannot be the name of a subsystem`)
  }
  const { isApplied = true, notApplied = [] } = declaration
  const keys = new Map<string, SubsystemKey>()
  for (const configuration of configurationKeys([{ name, config: declaration.keys }])) {
    const { property, schema, secret } = configuration
    const facts = schema as KeyFacts
    if (!namePattern.test(property) || facts.default === undefined || !facts.description) {
      throw new TypeError(`settings: ${name}.${property} needs a name in snake_case, a default and a description`)
    }
    if (facts.pattern !== undefined && facts.errorMessage === undefined) {
      throw new TypeError(`settings: ${name}.${property} needs the words of its pattern (errorMessage)`)
    }
    keys.set(property, {
      name: property,
      configuration,
      isSecret: secret,
      hasSecretQuery: facts.secretQuery === true,
      isDestination: facts.destination === true,
      isApplied: isApplied && !notApplied.includes(property),
      default: facts.default,
      defaultText: textOf(configuration, facts.default),
    })
  }
  const all = [...keys.values()]
  if (declaration.isTarget && all.some(key => key.isSecret) && !all.some(key => key.isDestination)) {
    throw new TypeError(`settings: no key of ${name} says where its secrets are sent (destination: true)`)
  }
  for (const key of notApplied) {
    if (!keys.has(key)) throw new TypeError(`settings: ${name} has no key ${key} that could need a restart`)
  }
  return {
    name,
    declaration,
    isMultiple: declaration.isMultiple === true,
    keys,
    defaults: freeze(Object.fromEntries([...keys.values()].map(key => [key.name, key.default]))),
    listeners: new Set(),
  }
}

export function parseSetting(key: SubsystemKey, text: string): Parsed {
  const { configuration } = key
  if (Buffer.byteLength(text) > valueBytesMax) return { problem: `must have at most ${valueBytesMax} bytes` }
  try {
    const value = parseText(configuration, configuration.type === 'boolean' ? readSwitch(text) : text)
    const [problem] = checkValue(configuration, value)
    if (problem !== undefined) return { problem }
    return { value, text: configuration.type === 'boolean' ? textOf(configuration, value) : text }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { problem: error.message }
  }
}

/**
 * The values of stored texts, for all keys. A text of an earlier or later release that cannot be read is replaced by the default, and its
 * key is added to `unreadable`.
 */
export function readValues(
  { keys, defaults }: Subsystem,
  texts: Readonly<Record<string, string>>,
): { readonly values: Values; readonly unreadable: readonly string[] } {
  const unreadable: string[] = []
  let values: Record<string, unknown> | undefined
  for (const [name, text] of Object.entries(texts)) {
    const key = keys.get(name)
    if (key === undefined) continue
    const parsed = parseSetting(key, text)
    if ('problem' in parsed) {
      unreadable.push(name)
      continue
    }
    values ??= { ...defaults }
    values[name] = parsed.value
  }
  return { values: values === undefined ? defaults : freeze(values), unreadable }
}

function readSwitch(text: string): string {
  if (text === 'on' || text === 'true') return 'true'
  if (text === 'off' || text === 'false') return 'false'
  throw new RangeError('must be on or off')
}

function textOf(key: ConfigurationKey, value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  return writeValue(key, value) ?? ''
}

function freeze(values: Record<string, unknown>): Values {
  for (const value of Object.values(values)) if (Array.isArray(value)) Object.freeze(value)
  return Object.freeze(values)
}
