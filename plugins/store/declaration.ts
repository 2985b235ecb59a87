/** A declared collection: its checked declaration, with the schema compiled. */
import type { Static, TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/schema'
import type { CollectionDeclaration } from './api.ts'
import type { Scope } from './keys.ts'
import { findSecretFields, type SecretPattern } from './secret-fields.ts'

const namePattern = /^[a-z][a-z0-9-]{0,63}$/
const versionMax = 65_535

export interface Declared {
  readonly name: string
  readonly scope: Scope
  readonly version: number
  readonly archiveNote: string | undefined
  readonly secrets: readonly SecretPattern[]
  readonly migrate: ((value: unknown, fromVersion: number) => unknown) | undefined
  /** The problem with a value: the place (JSON Pointer) and a sentence that never repeats a value. Undefined if there is none. */
  check(value: unknown): { readonly field: string; readonly message: string } | undefined
}

/** Throws TypeError or RangeError for an invalid declaration, which is a defect of its plugin. */
export function declareCollection<Schema extends TSchema>(declaration: CollectionDeclaration<Schema>): Declared {
  const { name, schema, version, scope = 'global' } = declaration
  if (!namePattern.test(name)) throw new RangeError(`store: ${JSON.stringify(name)} cannot be the name of a collection`)
  if (!Number.isInteger(version) || version < 1 || version > versionMax) {
    throw new RangeError(`store: the version of the collection ${name} must be an integer from 1 to ${versionMax}`)
  }
  // Compiled at the first use, because it takes milliseconds and not every start needs every schema.
  let validator: Validator<Schema> | undefined
  return {
    name,
    scope,
    version,
    archiveNote: declaration.archiveNote,
    secrets: findSecretFields(schema),
    migrate: declaration.migrate?.bind(declaration),
    check(value) {
      validator ??= Compile(schema)
      if (validator.Check(value)) return undefined
      return describe(validator.Errors(value)[1])
    },
  }
}

type SchemaErrors = ReturnType<Validator<TSchema>['Errors']>[1]

/** Takes the error with the deepest place, the most precise one. For an unknown field TypeBox says only that its schema is false. */
function describe(errors: SchemaErrors): { field: string; message: string } {
  let [best] = errors
  for (const error of errors) if (error.instancePath.length > best!.instancePath.length) best = error
  const field = best?.instancePath || '/'
  if (best?.keyword === 'required') {
    const missing = (best.params as { requiredProperties?: readonly string[] }).requiredProperties ?? []
    return { field, message: `${field} lacks ${missing.join(', ')}.` }
  }
  const message = best?.keyword === 'boolean' ? 'is not a known field' : (best?.message ?? 'does not match the schema')
  return { field, message: `${field} ${message}.` }
}

export type ValueOf<Schema extends TSchema> = Static<Schema>
