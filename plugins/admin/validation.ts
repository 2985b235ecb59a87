/**
 * Validates parameters and bodies against their schemas. Compiled at the first use, because most operations are never called in a process.
 */

import { type TObject, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import { type FieldProblem, invalidFields } from './errors.ts'

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
  readonly const?: unknown
  /** Beside `pattern`: what the value must be, in words that follow the name of the field. */
  readonly errorMessage?: string
}

type Validator = ReturnType<typeof Compile>

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
  const validators = new Map<TSchema, Validator>()

  /** The problem with the value; undefined if there is none. */
  function flawOf(schema: TSchema, value: unknown, describe: (pointer: string) => string): Error | undefined {
    let validator = validators.get(schema)
    if (validator === undefined) {
      validator = Compile(schema)
      validators.set(schema, validator)
    }
    if (validator.Check(value)) return undefined
    const problems: FieldProblem[] = []
    for (const error of validator.Errors(value).slice(0, problemsMax * 2)) {
      for (const problem of problemsIn(error, schema as unknown as SchemaNode)) {
        const element = describe(problem.element)
        if (!problems.some(other => other.element === element)) problems.push({ element, message: problem.message })
      }
    }
    return invalidFields(problems.slice(0, problemsMax))
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
      const problems: FieldProblem[] = []
      const cleaned = withoutReadOnly(value, body as unknown as SchemaNode, '', problems)
      if (problems.length > 0) return { error: invalidFields(problems.slice(0, problemsMax)) }
      const complete = Value.Default(body, cleaned)
      const error = flawOf(body, complete, pointer => pointer)
      return error === undefined ? { value: complete } : { error }
    },
  }
}

interface SchemaError {
  readonly keyword: string
  /** Of the schema that refuses the value: `#/properties/name`. */
  readonly schemaPath: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
}

function* problemsIn(error: SchemaError, schema: SchemaNode): Iterable<FieldProblem> {
  const { keyword, instancePath, params } = error
  if (keyword === 'required') {
    const { requiredProperties } = params as { requiredProperties: readonly string[] }
    for (const name of requiredProperties)
      yield { element: `${instancePath}/${escapePointer(name)}`, message: 'is missing' }
    return
  }
  yield { element: instancePath, message: sentenceOf(error, schema) }
}

/** What is wrong, in words for people. */
function sentenceOf({ keyword, schemaPath, params, message }: SchemaError, schema: SchemaNode): string {
  const { allowedValues, limit } = params as { readonly allowedValues?: readonly unknown[]; readonly limit?: number }
  if (keyword === 'enum') return oneOf(allowedValues!)
  if (keyword === 'const' || keyword === 'anyOf' || keyword === 'type') {
    const choices = choicesAt(schema, keyword === 'anyOf' ? schemaPath : schemaPath.replace(/\/anyOf\/\d+$/, ''))
    if (choices !== undefined) return oneOf(choices)
  }
  if (keyword === 'pattern') return nodeAt(schema, schemaPath)?.errorMessage ?? message
  if (keyword === 'minLength') return limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`
  if (keyword === 'maxLength') return `must have at most ${limit} ${limit === 1 ? 'character' : 'characters'}`
  if (keyword === 'minItems') return limit === 1 ? 'must not be empty' : `must have at least ${limit} entries`
  if (keyword === 'maxItems') return `must have at most ${limit} ${limit === 1 ? 'entry' : 'entries'}`
  return message
}

const oneOf = (values: readonly unknown[]): string =>
  `must be one of ${values.map(value => JSON.stringify(value)).join(', ')}`

/** The values of a union of constants; undefined of any other schema. */
function choicesAt(schema: SchemaNode, path: string): readonly unknown[] | undefined {
  const choices = nodeAt(schema, path)?.anyOf
  return choices?.every(choice => 'const' in choice) ? choices.map(choice => choice.const) : undefined
}

function nodeAt(schema: SchemaNode, path: string): SchemaNode | undefined {
  let node: unknown = schema
  for (const step of path.split('/').slice(1)) {
    node = (node as Readonly<Record<string, unknown>> | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return node as SchemaNode | undefined
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/**
 * A copy without read-only fields; each field that the schema does not have becomes a problem. Alternatives of objects are validated by the
 * schema itself.
 */
function withoutReadOnly(value: unknown, schema: SchemaNode, pointer: string, problems: FieldProblem[]): unknown {
  if (Array.isArray(value)) {
    const { items } = schema
    if (items === undefined) return value
    return value.map((item, index) => withoutReadOnly(item, items, `${pointer}/${index}`, problems))
  }
  const { properties } = schema
  if (typeof value !== 'object' || value === null || properties === undefined) return value
  const cleaned: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined
    const place = `${pointer}/${escapePointer(name)}`
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
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals), problems)
    const text = equals < 0 ? '' : decode(pair.slice(equals + 1), problems)
    const node = Object.hasOwn(properties, name) ? properties[name] : undefined
    const element = `query/${escapePointer(name)}`
    if (node === undefined) problems.push({ element, message: 'is not a parameter of this request' })
    else if (node.type === 'array') values[name] = [...((values[name] as unknown[]) ?? []), text]
    else if (Object.hasOwn(values, name)) problems.push({ element, message: 'is given more than once' })
    else values[name] = convert(text, node.type)
    texts.set(name, text)
  }
  if (problems.length > 0) throw invalidFields(problems.slice(0, problemsMax))
  for (const [name, node] of Object.entries(properties)) {
    if (node.default !== undefined && !Object.hasOwn(values, name)) values[name] = node.default
  }
  return values
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
