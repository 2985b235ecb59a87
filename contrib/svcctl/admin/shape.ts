/** The shape of a document on one line: names with placeholders of their values, `?` after optional ones. */
import { resolveSchema, type Schema } from './operations.ts'

const depthMax = 6

export function shapeOf(given: Schema, depth = 0): string {
  const { type, format, enum: values, const: only, anyOf, items, ...schema } = resolveSchema(given)
  if (only !== undefined) return JSON.stringify(only)
  if (values !== undefined) return values.map(value => JSON.stringify(value)).join('|')
  if (anyOf !== undefined) return [...new Set(anyOf.map(way => shapeOf(way, depth)))].join('|')
  if (type === 'string') return format === 'date-time' ? '"2027-01-31T00:00:00Z"' : '"…"'
  if (type === 'integer' || type === 'number') return '0'
  if (type === 'boolean') return 'true|false'
  if (type === 'null') return 'null'
  if (depth === depthMax) return '…'
  if (type === 'array') return `[${shapeOf(items ?? {}, depth + 1)}, …]`
  if (type !== 'object') return '…'
  const required = new Set(schema.required)
  const named = Object.entries(schema.properties ?? {})
    .filter(([, property]) => property.readOnly !== true)
    .map(([name, property]) => {
      const mayBeLeftOut = !required.has(name) || resolveSchema(property).default !== undefined
      return `"${name}"${mayBeLeftOut ? '?' : ''}: ${shapeOf(property, depth + 1)}`
    })
  const others = Object.values(schema.patternProperties ?? {})[0] ?? schema.additionalProperties
  if (typeof others === 'object') named.push(`"NAME": ${shapeOf(others, depth + 1)}, …`)
  return named.length === 0 ? '{…}' : `{${named.join(', ')}}`
}
