/** Documents as people write them: fields in the order of the schema, without those that have their default. */
import { isDeepStrictEqual } from 'node:util'

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
  readonly readOnly?: boolean
  readonly default?: unknown
}

export function plain(value: unknown, schema: unknown): unknown {
  return withoutDefaults(value, schema as SchemaNode)
}

function withoutDefaults(value: unknown, schema: SchemaNode): unknown {
  if (Array.isArray(value)) return value.map(item => withoutDefaults(item, schema.items ?? {}))
  if (typeof value !== 'object' || value === null) return value
  const { properties = {} } = schema
  const written: Record<string, unknown> = {}
  for (const [name, node] of Object.entries(properties)) {
    const field = (value as Record<string, unknown>)[name]
    if (field === undefined || node.readOnly === true || isDeepStrictEqual(field, node.default)) continue
    const inner = withoutDefaults(field, node)
    // An object of which only defaults are left says nothing.
    if (node.default !== undefined && isDeepStrictEqual(inner, {})) continue
    written[name] = inner
  }
  for (const [name, field] of Object.entries(value)) if (!Object.hasOwn(properties, name)) written[name] = field
  return written
}
