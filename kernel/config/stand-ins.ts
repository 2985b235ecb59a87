/** Placeholders for required settings without a value, so that plugins can be set up to list their contributions. Never used to run one. */
import type { KeySchema } from './keys.ts'

interface Shape extends KeySchema {
  readonly const?: unknown
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly minimum?: number
}

/** Length of texts: most checks accept it. */
const usualLength = 16

/** A placeholder of the schema's type; it need not pass every check. */
export function standInFor(schema: Shape): unknown {
  const first = schema.const ?? schema.enum?.[0] ?? schema.anyOf?.[0]?.const
  if (first !== undefined) return first
  switch (schema.type) {
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => standInFor((schema.items ?? {}) as Shape))
    case 'boolean':
      return false
    case 'integer':
    case 'number':
      return schema.minimum ?? 0
    case 'object':
      return {}
    default:
      return (schema.format === 'path' ? '/' : '')
        .padEnd(Math.max(schema.minLength ?? 0, usualLength), 'x')
        .slice(0, schema.maxLength)
  }
}
