/** Values of configuration keys: from text, from JSON, and whether they hold. */
import { createRequire } from 'node:module'
import type { TSchema } from 'typebox'
import { type ConfigurationKey, choices, type KeySchema, type KeyType, typeOf } from './keys.ts'
import { parseDuration, parseSize } from './units.ts'

type Validator = typeof import('typebox/schema')
let loaded: Validator | undefined

/** Loaded with the first value that is checked: `svcctl`, which checks none, is to start without it. Bundled, each `require` makes a copy. */
function validator(): Validator {
  loaded ??= createRequire(import.meta.url)('typebox/schema') as Validator
  return loaded
}

/** The accepted texts of booleans. */
export const booleanTexts: ReadonlyMap<string, boolean> = new Map([
  ['on', true],
  ['off', false],
  ['true', true],
  ['false', false],
])

/** Characters of a value that an error repeats. */
const shownMax = 40
/** Quotes the given value, for switches and numbers, which are no secrets. */
const butIs = (text: string): string => (text.length > shownMax ? '' : `, not ${JSON.stringify(text)}`)

/** The value that a text stands for. Throws RangeError with a sentence without subject. */
export function parseText(key: ConfigurationKey, text: string): unknown {
  return parseAs(key.schema as KeySchema, text, key.positional ? /\s+/ : /\s*,\s*/)
}

function parseAs(schema: KeySchema, text: string, separator: RegExp): unknown {
  switch (typeOf(schema)) {
    case 'size':
      return parseSize(text)
    case 'duration':
      return parseDuration(text)
    case 'boolean':
      if (!booleanTexts.has(text)) throw new RangeError(`must be on, off, true or false${butIs(text)}`)
      return booleanTexts.get(text)
    case 'integer':
      if (!/^-?\d{1,15}$/.test(text)) throw new RangeError(`must be an integer${butIs(text)}`)
      return Number(text)
    case 'number':
      if (!/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) throw new RangeError(`must be a decimal number${butIs(text)}`)
      return Number(text)
    case 'list': {
      const items = (schema.items ?? {}) as KeySchema
      // Entries that may be more than texts: as JSON, or as texts alone.
      const isAny = typeOf(items) === 'json'
      if (isAny && text.trimStart().startsWith('[')) return parseJson(text)
      const entries = text.trim().split(separator)
      return entries.filter(entry => entry !== '').map(entry => (isAny ? entry : parseAs(items, entry, separator)))
    }
    case 'json':
      return parseJson(text)
    default:
      return text
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new RangeError('must be JSON')
  }
}

/** Types whose values may be texts in the file. */
const writtenAsText: ReadonlySet<KeyType> = new Set(['boolean', 'size', 'duration'])

/** Converts a value from the file, or a default: booleans, sizes and durations may be texts. */
export function convertValue(key: ConfigurationKey, value: unknown): unknown {
  if (typeof value === 'string' && writtenAsText.has(key.type)) return parseText(key, value)
  return value
}

/** A violation of a schema: its place in the value, with dots, and a sentence without subject. */
export function schemaProblems(schema: TSchema, value: unknown): readonly { path: string; message: string }[] {
  if (validator().Check(schema, value)) return []
  const [, errors] = validator().Errors(schema, value)
  return errors.map(({ instancePath, message }) => ({ path: instancePath.slice(1).replaceAll('/', '.'), message }))
}

/** What the declaration wants, in its own words where it has a pattern; else what the library says. */
export function schemaWords(
  { keyword, schemaPath, message }: { readonly keyword: string; readonly schemaPath: string; readonly message: string },
  schema: object,
): string {
  if (keyword !== 'pattern') return message
  let node: unknown = schema
  for (const step of schemaPath.split('/').slice(1))
    node = (node as Readonly<Record<string, unknown>> | undefined)?.[step]
  return (node as KeySchema | undefined)?.errorMessage ?? message
}

/** The problems of a value, as sentences without subject that never repeat a secret. */
export function checkValue(key: ConfigurationKey, value: unknown): readonly string[] {
  const schema = key.schema as KeySchema
  const shown = key.secret || typeof value === 'object' ? '' : `, not ${JSON.stringify(value)}`
  const allowed = choices(schema)
  if (allowed.length > 0) {
    return allowed.includes(value as string) ? [] : [`must be one of ${allowed.join(', ')}${shown}`]
  }
  const [, found] = validator().Errors(key.schema, value)
  const errors = found.map(error => {
    const place = error.instancePath === '' ? '' : `entry ${error.instancePath.slice(1)} `
    // For an entry that is none of several texts, TypeBox only lists the texts.
    const listed = error.keyword === 'const' || error.keyword === 'anyOf' ? choices(schema.items as KeySchema) : []
    return `${place}${listed.length > 0 ? `must be one of ${listed.join(', ')}` : schemaWords(error, schema)}${shown}`
  })
  if (errors.length > 0) return [...new Set(errors)]
  const problem = schema.check?.(value)
  return problem === undefined ? [] : [problem]
}
