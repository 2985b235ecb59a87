/** The OpenAPI 3.1 document, from the declarations. Schemas with an `$id` become components. */

import { basePath, statusOf } from './answer.ts'
import type { AdminOperation, Authorization } from './api.ts'
import { actionsNamed, type CatalogueRow } from './catalogue.ts'
import { isMadeOnce } from './repeats.ts'

type Json = Record<string, unknown>

/** `rows` are those of the catalogue, for operations whose actions are only described. */
export function createDocument(
  operations: readonly AdminOperation[],
  rows: readonly CatalogueRow[],
  version: string,
): Json {
  const components = createComponents()
  const words = new Map(rows.map(row => [row.operationId, row.actions]))
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    paths[operation.path] ??= {}
    paths[operation.path][operation.method.toLowerCase()] = describe(operation, words.get(operation.id), components)
  }
  const tags = [...new Set(operations.map(({ tag }) => tag))].map(name => ({ name }))
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc Admin API',
      version,
      summary: 'Administration of the object storage server.',
      description:
        'Errors are problem documents (RFC 9457). `x-svc-actions` lists the policy actions that an operation needs, of an ' +
        'inner array any one; with `x-svc-authorized-by: service` the handler decides. `x-svc-status: planned` marks ' +
        'operations that are not built yet and answer 501.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: basePath }],
    tags,
    security: signedOrSession,
    paths,
    components: {
      schemas: components.schemas(),
      parameters: { IdempotencyKey: idempotencyKey },
      responses: { Problem: problemResponse },
      securitySchemes,
    },
  }
}

const signedOrSession = [{ signature: [] }, { session: [], csrfToken: [] }]

const securitySchemes = {
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description:
      'AWS Signature Version 4 in the header, service `s3`, region of the server. Presigned URLs are refused.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'svc_session',
    description: 'The cookie that login sets; with TLS browsers also need the second one, `__Host-svc_session`.',
  },
  csrfToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-CSRF-Token',
    description: '`csrfToken` of the session; beside the cookie, for everything but GET.',
  },
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'The same change with the same key, sent again within a minute, is not made again: the answer is that of the first. Any value that ' +
    'no other change has.',
  schema: { type: 'string', minLength: 1, maxLength: 128 },
}

const problemResponse = {
  description: 'The request failed; `code` has the reason.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

const problemSchema = {
  type: 'object',
  description: 'A problem document (RFC 9457).',
  required: ['type', 'title', 'status', 'detail', 'code', 'requestId'],
  properties: {
    type: { type: 'string', description: '`urn:svc:error:` and the code.' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    code: { type: 'string', description: 'Stable.' },
    requestId: { type: 'string' },
    errors: { type: 'array', items: { type: 'object' }, description: 'All problems, each with its place.' },
    ruleErrors: { type: 'array', items: { type: 'object' } },
    accessRuleErrors: { type: 'array', items: { type: 'object' } },
  },
}

function describe(operation: AdminOperation, words: string | undefined, components: Components): Json {
  const { id, tag, summary, authorize, errors = [], plannedBy } = operation
  const [first] = summary.split('. ')
  return {
    operationId: id,
    tags: [tag],
    summary: first.replace(/\.$/, ''),
    description: summary,
    ...securityOf(authorize),
    'x-svc-actions': actionsOf(operation, words),
    ...(authorize === 'self' || authorize === 'service' ? { 'x-svc-authorized-by': 'service' } : {}),
    'x-svc-status': plannedBy === undefined ? 'served' : 'planned',
    ...(plannedBy === undefined ? {} : { 'x-svc-plugin': plannedBy }),
    ...(errors.length > 0 ? { 'x-svc-errors': errors } : {}),
    ...parametersOf(operation, components),
    ...bodyOf(operation, components),
    responses: responsesOf(operation, components),
  }
}

function securityOf(authorize: Authorization): Json {
  if (authorize === 'public') return { security: [] }
  return authorize === 'session' ? { security: [signedOrSession[1]] } : {}
}

/** For operations whose handler or request determines the actions: any of the named actions. */
function actionsOf({ authorize }: AdminOperation, words: string | undefined): unknown[] {
  if (typeof authorize !== 'string') return [...authorize]
  if (authorize !== 'service' || words === undefined) return []
  const named = actionsNamed(words)
  return named.length < 2 ? [...named] : [named]
}

function parametersOf(operation: AdminOperation, components: Components): Json {
  const { path, params, query, method, etag, acceptsIfNoneMatch } = operation
  const parameters: Json[] = []
  for (const [, name] of path.matchAll(/\{(\w+)\}/g)) {
    const schema = params?.properties?.[name] ?? { type: 'string', maxLength: 1024 }
    parameters.push({ name, in: 'path', required: true, schema: components.schemaOf(schema) })
  }
  for (const [name, schema] of Object.entries<Json>(query?.properties ?? {})) {
    const { description, ...plain } = components.schemaOf(schema) as { description?: string }
    const required = query?.required?.includes(name) === true && schema.default === undefined
    parameters.push({
      name,
      in: 'query',
      required,
      ...(description === undefined ? {} : { description }),
      schema: plain,
    })
  }
  if (etag === true && method !== 'GET') {
    const description = 'ETag that the document must have, quoted or not; else 412.'
    parameters.push({ name: 'If-Match', in: 'header', required: false, description, schema: { type: 'string' } })
  }
  if (acceptsIfNoneMatch === true) {
    const description = 'Nothing that exists is replaced; else 412.'
    parameters.push({ name: 'If-None-Match', in: 'header', required: false, description, schema: { enum: ['*'] } })
  }
  if (isMadeOnce(operation)) parameters.push({ $ref: '#/components/parameters/IdempotencyKey' })
  return parameters.length === 0 ? {} : { parameters }
}

function bodyOf(
  { body, bodyStream, bodyOptional, formField, contentTypes = ['application/json'] }: AdminOperation,
  components: Components,
): Json {
  if (bodyStream === true) return { requestBody: { required: true, content: { '*/*': { schema: binary } } } }
  if (body === undefined) return {}
  const content: Json = {}
  for (const type of contentTypes) content[type] = { schema: components.schemaOf(body) }
  if (formField !== undefined) {
    const properties = { [formField]: { type: 'string', contentMediaType: 'application/json' } }
    content['application/x-www-form-urlencoded'] = { schema: { type: 'object', required: [formField], properties } }
  }
  return { requestBody: { required: bodyOptional !== true, content } }
}

/** Bytes: in OpenAPI 3.1 the type is omitted. */
const binary = {}

function responsesOf(operation: AdminOperation, components: Components): Json {
  const problem = { $ref: '#/components/responses/Problem' }
  const responses: Json = {}
  const { response, events, bytes, etag, location } = operation
  if (operation.plannedBy === undefined) {
    const headers: Json = {}
    if (etag === true) headers.ETag = { schema: { type: 'string' } }
    if (location !== undefined) headers.Location = { schema: { type: 'string' } }
    const schema = response === undefined ? undefined : components.schemaOf(response)
    responses[statusOf(operation)] = {
      description: schema === undefined && events === undefined && bytes === undefined ? 'Done.' : 'The answer.',
      ...(Object.keys(headers).length > 0 ? { headers } : {}),
      ...(schema === undefined ? {} : { content: { 'application/json': { schema } } }),
      ...(bytes === undefined ? {} : { content: { [bytes]: { schema: binary } } }),
      ...(events === undefined ? {} : { content: streamOf(events, components) }),
    }
  }
  for (const status of statusesOf(operation)) responses[status] = problem
  responses.default = problem
  return responses
}

/** OpenAPI 3.1 cannot describe the events of a stream: they are named, and their schemas are components. */
function streamOf(events: Readonly<Record<string, unknown>>, components: Components): Json {
  const named: Json = {}
  for (const [name, schema] of Object.entries(events)) named[name] = components.schemaOf(schema)
  return { 'text/event-stream': { schema: { type: 'string' }, 'x-svc-events': named } }
}

function statusesOf({ authorize, body, bodyStream, path, plannedBy }: AdminOperation): readonly string[] {
  const statuses = ['400']
  if (authorize !== 'public') statuses.push('401', '403')
  if (path.includes('{')) statuses.push('404')
  if (body !== undefined || bodyStream === true) statuses.push('413')
  if (body !== undefined) statuses.push('415')
  if (plannedBy !== undefined) statuses.push('501')
  return statuses
}

interface Components {
  /** A copy for the document: schemas with an `$id` become references. */
  schemaOf(schema: unknown): Json
  schemas(): Json
}

function createComponents(): Components {
  const named = new Map<string, unknown>([['Problem', problemSchema]])
  const sources = new Map<string, unknown>()

  function copy(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(copy)
    if (typeof value !== 'object' || value === null) return value
    const { $id: id } = value as { $id?: string }
    if (id === undefined) return copyFields(value)
    if (!named.has(id)) {
      // Named before it is copied, because a schema may contain itself.
      named.set(id, undefined)
      sources.set(id, value)
      named.set(id, copyFields(value))
    } else if (sources.get(id) !== value && JSON.stringify(sources.get(id)) !== JSON.stringify(value)) {
      throw new Error(`two schemas of the Admin API are called ${id}`)
    }
    return { $ref: `#/components/schemas/${id}` }
  }

  function copyFields(value: object): Json {
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, field]) => (name === '$id' ? [] : [[name, copy(field)]])),
    )
  }

  return {
    schemaOf: schema => copy(schema) as Json,
    schemas: () => Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}
