/** Settings of something that has a kind (a DNS provider, a purge webhook): the schema of the kind declares them, and which are secret. */
import { schemaWords } from 'svc/kernel'
import type { TObject, TSchema } from 'typebox'
import { Value } from 'typebox/value'

export interface FieldSchema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly secret?: boolean
  readonly description?: string
  readonly default?: unknown
  /** Determines where secrets are sent. */
  readonly destination?: boolean
}

export interface KindFields {
  readonly names: readonly string[]
  readonly schemas: Readonly<Record<string, FieldSchema>>
  readonly secrets: ReadonlySet<string>
  /** Those that have no default and must be given. */
  readonly required: ReadonlySet<string>
  readonly destinations: readonly string[]
}

export function kindFields(schema: Pick<TObject, 'properties'>): KindFields {
  const { properties, required = [] } = schema as { readonly properties: object; readonly required?: readonly string[] }
  const schemas = properties as Readonly<Record<string, FieldSchema>>
  const names = Object.keys(schemas)
  return {
    names,
    schemas,
    required: new Set(required.filter(name => schemas[name]!.default === undefined)),
    secrets: new Set(names.filter(name => schemas[name]!.secret === true)),
    destinations: names.filter(name => schemas[name]!.destination === true),
  }
}

export interface FieldProblem {
  readonly name: string
  /** JSON Pointer below the field; empty for the field itself. */
  readonly within: string
  /** Undefined: it is missing. Without the value, which may be secret. */
  readonly message: string | undefined
}

/** The fields with defaults, and the first problem of each; fields that the schema does not have are passed over. */
export function completeFields(
  schema: TObject,
  given: Readonly<Record<string, unknown>>,
): { readonly complete: Readonly<Record<string, unknown>>; readonly problems: readonly FieldProblem[] } {
  const complete = Value.Default(schema, { ...given }) as Readonly<Record<string, unknown>>
  const required = new Set<string>((schema as { required?: string[] }).required)
  const problems = Object.entries(schema.properties as Readonly<Record<string, TSchema>>).flatMap(
    ([name, field]): FieldProblem[] => {
      if (!Object.hasOwn(complete, name)) return required.has(name) ? [{ name, within: '', message: undefined }] : []
      const [error] = Value.Errors(field, complete[name])
      return error === undefined ? [] : [{ name, within: error.instancePath, message: schemaWords(error, field) }]
    },
  )
  return { complete, problems }
}
