/**
 * Validates parameters and bodies against their schemas. Compiled at the first use, because most operations are never called in a process.
 */

import { type TObject, type TSchema, Type } from 'typebox'
import { Format } from 'typebox/format'
import { Value } from 'typebox/value'
import { type FieldProblem, invalidFields } from './errors.ts'
import { placeIn } from './pointers.ts'
import { createProblemSearch } from './problem-search.ts'
import { type SizedNode, sizeProblems } from './sizes.ts'

/** The parts of a schema that are used here. */
interface SchemaNode {
  readonly type?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: unknown
  readonly patternProperties?: unknown
  readonly propertyNames?: { readonly pattern?: string }
  readonly items?: SchemaNode
  readonly readOnly?: boolean
  readonly default?: unknown
  readonly anyOf?: readonly SchemaNode[]
}

// A leap second is a time by its form, and none that there is a number for: compared with any it would be neither before nor after.
Format.Set('date-time', text => Format.IsDateTime(text) && !Number.isNaN(Date.parse(text)))

const problemsMax = 20

export interface Validation {
  /** Path parameters: any text unless declared. */
  params(values: Readonly<Record<string, string>>): object
  /** Throws `invalid_argument` for unknown, repeated and invalid parameters. */
  query(rawQuery: string): { readonly values: object; readonly texts: ReadonlyMap<string, string> }
  /** Called by Fastify. The error is `invalid_argument`, with a JSON Pointer for each unknown or invalid field. */
  body(value: unknown): { readonly value: unknown } | { readonly error: Error }
}

export interface ValidatedSchemas {
  readonly params?: TObject
  readonly query?: TObject
  readonly body?: TSchema
}

const empty = Type.Object({})

export function createValidation({ params, query = empty, body = empty }: ValidatedSchemas): Validation {
  const search = createProblemSearch(problemsMax)
  const hasDefaults = declaresDefault(body)

  /** The problem with the value; undefined if there is none. */
  function flawOf(schema: TSchema, value: unknown, describe: (pointer: string) => string): Error | undefined {
    const found = search.problemsOf(schema, value)
    if (found.length === 0) return undefined
    return invalidFields(found.map(({ element, message }) => ({ element: describe(element), message })))
  }

  function check(schema: TSchema, value: unknown, describe: (pointer: string) => string): void {
    const flaw = flawOf(schema, value, describe)
    if (flaw !== undefined) throw flaw
  }

  return {
    params(values) {
      if (params !== undefined) check(params, values, pointer => `path${pointer}`)
      return values
    },
    query(rawQuery) {
      const texts = new Map<string, string>()
      const values = readQuery(rawQuery, query as unknown as SchemaNode, texts)
      check(query, values, pointer => `query${pointer}`)
      return { values, texts }
    },
    body(value) {
      // Sizes come first: what follows takes a time that grows with the number of values.
      const problems = sizeProblems(value, body as unknown as SizedNode, problemsMax)
      if (problems.length > 0) return { error: invalidFields(problems) }
      const cleaned = withoutReadOnly(value, body as unknown as SchemaNode, '', problems)
      if (problems.length > 0) return { error: invalidFields(problems) }
      const complete = hasDefaults ? Value.Default(body, cleaned) : cleaned
      const error = flawOf(body, complete, pointer => pointer)
      return error === undefined ? { value: complete } : { error }
    },
  }
}

/** Whether some value of the schema has a default. */
function declaresDefault(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  if (Array.isArray(schema)) return schema.some(declaresDefault)
  // A field may be called `default`; then the answer may be yes without need.
  return Object.entries(schema).some(([name, part]) => name === 'default' || declaresDefault(part))
}

/**
 * A copy without read-only fields; each field that the schema does not have becomes a problem, and after the first 20 the copy ends.
 * Alternatives of objects are validated by the schema itself.
 */
function withoutReadOnly(value: unknown, schema: SchemaNode, pointer: string, problems: FieldProblem[]): unknown {
  if (Array.isArray(value)) {
    const { items } = schema
    if (items === undefined) return value
    const copies: unknown[] = []
    for (const [index, item] of value.entries()) {
      if (problems.length >= problemsMax) break
      copies.push(withoutReadOnly(item, items, placeIn(pointer, index), problems))
    }
    return copies
  }
  const { properties } = schema
  if (typeof value !== 'object' || value === null || properties === undefined) return value
  const cleaned: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(value)) {
    if (problems.length >= problemsMax) break
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined
    const place = placeIn(pointer, name)
    if (known === undefined) {
      if (isOpenFor(name, schema)) cleaned[name] = field
      else problems.push({ element: place, message: 'is not a field of this request' })
    } else if (known.readOnly !== true) cleaned[name] = withoutReadOnly(field, known, place, problems)
  }
  return cleaned
}

/** Whether an object may have a field that it does not declare. */
function isOpenFor(name: string, { additionalProperties, patternProperties, propertyNames }: SchemaNode): boolean {
  if (propertyNames?.pattern !== undefined && !new RegExp(propertyNames.pattern, 'u').test(name)) return false
  return (additionalProperties !== undefined || patternProperties !== undefined) && additionalProperties !== false
}

function readQuery(rawQuery: string, schema: SchemaNode, texts: Map<string, string>): object {
  const properties = schema.properties ?? {}
  const values: Record<string, unknown> = {}
  const problems: FieldProblem[] = []
  for (const pair of rawQuery === '' ? [] : rawQuery.split('&')) {
    if (pair === '') continue
    if (problems.length >= problemsMax) break
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals), problems)
    const text = equals < 0 ? '' : decode(pair.slice(equals + 1), problems)
    const node = Object.hasOwn(properties, name) ? properties[name] : undefined
    const element = placeIn('query', name)
    if (node === undefined) problems.push({ element, message: 'is not a parameter of this request' })
    else if (node.type === 'array') listAt(values, name).push(text)
    else if (Object.hasOwn(values, name)) problems.push({ element, message: 'is given more than once' })
    else values[name] = convert(text, node.type)
    texts.set(name, text)
  }
  if (problems.length > 0) throw invalidFields(problems)
  for (const [name, node] of Object.entries(properties)) {
    if (node.default !== undefined && !Object.hasOwn(values, name)) values[name] = node.default
  }
  return values
}

function listAt(values: Record<string, unknown>, name: string): unknown[] {
  if (!Object.hasOwn(values, name)) values[name] = []
  return values[name] as unknown[]
}

/** Text that cannot be converted stays text, which the schema then refuses. */
function convert(text: string, type: string | undefined): unknown {
  if (type === 'integer') return /^-?\d{1,15}$/.test(text) ? Number(text) : text
  if (type === 'number') return /^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : text
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return text
}

function decode(text: string, problems: FieldProblem[]): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    problems.push({ element: 'query', message: 'is not percent-encoded UTF-8' })
    return ''
  }
}
