/** A field of a query or a body as text on the command line: its kind of value, and its parser. */
import { parseDuration, parseSize } from '../units.ts'
import { resolveSchema, type Schema } from './operations.ts'
import { shapeOf } from './shape.ts'

export type FieldKind =
  | 'text'
  | 'choice'
  | 'switch'
  | 'number'
  | 'size'
  | 'milliseconds'
  | 'seconds'
  | 'time'
  /** Never on the command line, where others on the machine can read it. */
  | 'secret'
  /** Texts or choices. */
  | 'list'
  /** Names with a text or a list of texts each. */
  | 'pairs'
  /** JSON, in a file. */
  | 'document'

export interface Field {
  readonly name: string
  readonly kind: FieldKind
  readonly isRequired: boolean
  /** `null` is a value that clears the field. */
  readonly isNullable: boolean
  readonly description: string
  /** Allowed values, of the field or of its items. */
  readonly choices: readonly string[] | undefined
  /** Pattern of the text, or of each item of a list; only if the description explains it. */
  readonly pattern?: string | undefined
  readonly default: unknown
  /** Whether a list or pairs may be empty. */
  readonly mayBeEmpty: boolean
  /** Values of pairs are lists. */
  readonly hasLists: boolean
  /** A document may be sent as written, so that the server reports errors by line. */
  readonly takesText: boolean
  /** The shape of a document, for help; undefined if the schema does not describe its content. */
  readonly shape: string | undefined
}

/** The fields that a caller sets. */
export function fieldsOf(schema: Schema): readonly Field[] {
  const required = new Set(schema.required)
  return Object.entries(schema.properties ?? {})
    .filter(([, field]) => field.readOnly !== true)
    .map(([name, field]) => fieldOf(name, required.has(name), field))
}

export function fieldOf(name: string, isRequired: boolean, given: Schema): Field {
  const resolved = resolveSchema(given)
  const { schema, isNullable } = withoutNull(resolved)
  const kind = kindOf(name, schema)
  const value = kind === 'pairs' ? valueOfPairs(schema) : undefined
  const description = resolved.description ?? schema.description ?? ''
  const single = kind === 'list' ? resolveSchema(schema.items!) : schema
  return {
    name,
    kind,
    isRequired: isRequired && resolved.default === undefined,
    isNullable,
    description,
    choices: choicesOf(single),
    pattern: description === '' ? undefined : single.pattern,
    default: resolved.default,
    mayBeEmpty: (schema.minItems ?? 0) === 0,
    hasLists: value?.type === 'array',
    takesText: (schema.anyOf ?? []).some(({ type }) => type === 'string'),
    shape: kind === 'document' && schema.anyOf === undefined ? shapeOf(schema) : undefined,
  }
}

function withoutNull(schema: Schema): { readonly schema: Schema; readonly isNullable: boolean } {
  const ways = schema.anyOf?.map(resolveSchema)
  if (ways === undefined || !ways.some(({ type }) => type === 'null')) return { schema, isNullable: false }
  const others = ways.filter(({ type }) => type !== 'null')
  const { anyOf: _, ...beside } = schema
  return { schema: others.length === 1 ? { ...others[0], ...beside } : { ...beside, anyOf: others }, isNullable: true }
}

function kindOf(name: string, schema: Schema): FieldKind {
  if (choicesOf(schema) !== undefined) return 'choice'
  const { type, format } = schema
  if (format === 'password' || schema.secret === true) return 'secret'
  if (type === 'boolean') return 'switch'
  if (type === 'integer' || type === 'number') return kindOfNumber(name)
  if (type === 'string') return format === 'date-time' ? 'time' : 'text'
  if (type === 'array') {
    const item = resolveSchema(schema.items ?? {})
    return item.type === 'string' || choicesOf(item) !== undefined ? 'list' : 'document'
  }
  return valueOfPairs(schema) === undefined ? 'document' : 'pairs'
}

function kindOfNumber(name: string): FieldKind {
  if (/Ms$/.test(name)) return 'milliseconds'
  if (/InSeconds$/.test(name)) return 'seconds'
  return /^size|Bytes$|Size$/.test(name) ? 'size' : 'number'
}

/** Schema of the values of a record, if they are texts or lists of texts. */
function valueOfPairs({ type, patternProperties, additionalProperties }: Schema): Schema | undefined {
  if (type !== 'object') return undefined
  const found = Object.values(patternProperties ?? {})[0] ?? additionalProperties
  if (typeof found !== 'object') return undefined
  const value = withoutNull(resolveSchema(found)).schema
  const isText =
    value.type === 'string' || (value.type === 'array' && resolveSchema(value.items ?? {}).type === 'string')
  return isText ? value : undefined
}

function choicesOf({ enum: values, const: only, anyOf }: Schema): readonly string[] | undefined {
  const found = values ?? (only === undefined ? anyOf?.map(way => way.const) : [only])
  return found?.every(value => typeof value === 'string') ? (found as string[]) : undefined
}

/** How the empty text and `null` are written. */
export const noneWord = 'none'

/** Parses the value of one text. Throws RangeError. */
export function parseField(field: Field, text: string): unknown {
  const { name, kind, choices, isNullable } = field
  if (isNullable && text === noneWord) return null
  switch (kind) {
    case 'number':
      if (!/^-?\d+(\.\d+)?$/.test(text)) throw new RangeError('is no number')
      return Number(text)
    case 'size':
      return parseSize(text)
    case 'milliseconds':
      return parseDuration(text)
    case 'seconds':
      return Math.ceil(parseDuration(text) / 1000)
    case 'time':
      return parseTime(text)
    case 'switch':
      if (text !== 'on' && text !== 'off') throw new RangeError('is neither on nor off')
      return text === 'on'
    case 'choice':
    case 'list':
      return choices === undefined ? parseText(field, text) : parseChoice(choices, text)
    case 'text':
      return parseText(field, text)
    default:
      throw new RangeError(`cannot be ${name}`)
  }
}

/** People hear what it has to be, with the example of the description: a regular expression tells them nothing. */
function parseText({ pattern, description }: Field, text: string): string {
  if (pattern === undefined || new RegExp(pattern, 'u').test(text)) return text
  throw new RangeError(`does not fit: ${asClause(description)}`)
}

/** A description behind a colon. */
export const asClause = (description: string): string =>
  description.replace(/\.$/, '').replace(/^[A-Z](?![A-Z])/, letter => letter.toLowerCase())

function parseChoice(choices: readonly string[], text: string): string {
  const wanted = text === noneWord ? '' : text
  const found = choices.find(choice => choice.toLowerCase() === wanted.toLowerCase())
  if (found === undefined) throw new RangeError(`is none of ${shownChoices(choices).join(', ')}`)
  return found
}

export const shownChoices = (choices: readonly string[]): readonly string[] =>
  choices.map(choice => (choice === '' ? noneWord : choice))

/** `2027-01-31`, with a time of day and zone behind it, or from now on: `30d`. */
function parseTime(text: string): string {
  if (/^\d+(ms|s|m|h|d)$/.test(text)) return new Date(Date.now() + parseDuration(text)).toISOString()
  const isDate = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
  const ms = isDate ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) throw new RangeError('is no time: write 2027-01-31, 2027-01-31T12:00:00Z, or 30d from now')
  return new Date(ms).toISOString()
}

/** `policyNames` as people type it: `policy-names`. */
export const kebab = (name: string): string => name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

export const singular = (word: string): string =>
  word
    .replace(/ies$/, 'y')
    .replace(/(x|ch|sh|ss)es$/, '$1')
    .replace(/([^s])s$/, '$1')

/** The name of its option: singular for a list, and without a unit if values have one. */
export function optionName({ name, kind }: Field): string {
  const plain = kind === 'milliseconds' ? name.replace(/Ms$/, '') : kind === 'size' ? name.replace(/Bytes$/, '') : name
  return kebab(kind === 'list' ? singular(plain) : kind === 'seconds' ? plain.replace(/InSeconds$/, '') : plain)
}

/** The placeholder of its value in help. */
export function placeholder({ name, kind }: Field): string {
  switch (kind) {
    case 'milliseconds':
    case 'seconds':
      return 'duration'
    case 'size':
    case 'time':
      return kind
    case 'number':
      return 'count'
    case 'document':
      return 'file'
    case 'pairs':
      return 'name=value'
    case 'list':
      return kebab(singular(name))
    default:
      return kebab(name)
  }
}
