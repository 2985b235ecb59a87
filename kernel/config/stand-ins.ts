/** Values that stand for what nobody has configured, so that plugins can be set up to be asked what they offer. Never to run one. */
import type { KeySchema } from './keys.ts'

interface Shape extends KeySchema {
  readonly const?: unknown
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly minimum?: number
}

/** Of texts: what checks in words ask for is mostly shorter. */
const usualLength = 16

/** What a value of the schema looks like; it need not pass every check. */
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
