/** What is wrong with a value, in words for people that follow the name of the field. */
import type { FieldProblem } from './errors.ts'
import { placeIn } from './pointers.ts'

/** What the library says. */
export interface SchemaError {
  readonly keyword: string
  /** Of the schema that refuses the value: `#/properties/name`. */
  readonly schemaPath: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
}

interface SchemaNode {
  readonly anyOf?: readonly SchemaNode[]
  readonly const?: unknown
  /** Beside `pattern`: what the value must be. */
  readonly errorMessage?: string
}

/** `schema`: the one whose error it is. */
export function* problemsIn(error: SchemaError, schema: object): Iterable<FieldProblem> {
  const { keyword, instancePath, params } = error
  if (keyword === 'required') {
    const { requiredProperties } = params as { requiredProperties: readonly string[] }
    for (const name of requiredProperties) yield { element: placeIn(instancePath, name), message: 'is missing' }
    return
  }
  yield { element: instancePath, message: sentenceOf(error, schema) }
}

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
