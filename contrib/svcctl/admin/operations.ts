/**
 * The operations of the Admin API as `operations.json` has them, which `npm run docs` writes from the declarations: svcctl
 * loads no plugin, and explains itself without a server.
 */
import document from './operations.json' with { type: 'json' }

/** The keywords of JSON Schema that the commands use. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly pattern?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly description?: string
  readonly readOnly?: boolean
  readonly secret?: boolean
  readonly minItems?: number
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
}

export interface Parameter {
  readonly name: string
  readonly isRequired: boolean
  readonly schema: Schema
}

export interface Operation {
  readonly id: string
  readonly method: string
  /** Relative to `/api/v1`, parameters in braces. */
  readonly path: string
  /** A sentence, perhaps with others behind it. */
  readonly description: string
  /** Policy actions: all are required, and of an inner list any. */
  readonly actions: readonly (string | readonly string[])[]
  /** Whoever has no session of the console cannot call it. */
  readonly isOfSessions: boolean
  readonly pathParameters: readonly Parameter[]
  readonly query: readonly Parameter[]
  readonly takesIfMatch: boolean
  /** Undefined: it takes none. */
  readonly body: Schema | undefined
  /** It has to be there, if only as an empty document. */
  readonly isBodyRequired: boolean
  /** Media types of the body. */
  readonly bodyTypes: readonly string[]
  /** Undefined: there is none. */
  readonly response: Schema | undefined
  /** Media types of the answer. */
  readonly answerTypes: readonly string[]
}

interface Content {
  readonly [type: string]: { readonly schema?: Schema }
}

interface DocumentedOperation {
  readonly operationId: string
  readonly description: string
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly 'x-svc-actions': readonly (string | readonly string[])[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly description?: string
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

const { paths, schemas } = document as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly schemas: Readonly<Record<string, Schema>>
}

const prefix = '#/components/schemas/'

/** The schema that a reference points to; a description beside the reference is kept. */
export function resolveSchema(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema
  const { $ref, ...beside } = schema
  return { ...schemas[$ref.slice(prefix.length)], ...beside }
}

/** All operations in the order of the catalogue. */
export function listOperations(): readonly Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, documented]) => describe(path, method.toUpperCase(), documented)),
  )
}

function describe(path: string, method: string, documented: DocumentedOperation): Operation {
  const { parameters = [], requestBody, responses, security } = documented
  const inPlace = (place: string): Parameter[] =>
    parameters
      .filter(parameter => parameter.in === place)
      .map(({ name, required, description, schema }) => ({
        name,
        isRequired: required,
        schema: description === undefined ? resolveSchema(schema) : { ...resolveSchema(schema), description },
      }))
  const answer = Object.values(responses)[0]?.content ?? {}
  const schemaIn = (content: Content): Schema | undefined => {
    const schema = content['application/json']?.schema
    return schema === undefined ? undefined : resolveSchema(schema)
  }
  return {
    id: documented.operationId,
    method,
    path,
    description: documented.description,
    actions: documented['x-svc-actions'],
    isOfSessions: security !== undefined && !security.some(way => 'signature' in way),
    pathParameters: inPlace('path'),
    query: inPlace('query'),
    takesIfMatch: inPlace('header').some(({ name }) => name === 'If-Match'),
    body: schemaIn(requestBody?.content ?? {}),
    isBodyRequired: requestBody?.required ?? false,
    bodyTypes: Object.keys(requestBody?.content ?? {}),
    response: schemaIn(answer),
    answerTypes: Object.keys(answer),
  }
}
