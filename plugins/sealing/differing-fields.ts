import { canonicalJson } from './canonical-json.ts'

/** Objects within objects are named as well, arrays are not looked into. */
const depthMax = 2

/**
 * The names of the fields in which two JSON values differ: `quota`, `defaultBehavior.indexDocument`. Values are never in it. Empty where
 * one of them is no object.
 */
export function differingFields(before: unknown, after: unknown): string[] {
  if (!isObject(before) || !isObject(after)) return []
  return below(before, after, 1)
}

function below(before: Fields, after: Fields, depth: number): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names.flatMap(name => {
    const [own, other] = [fieldOf(before, name), fieldOf(after, name)]
    if (isSame(own, other)) return []
    if (depth === depthMax || !isObject(own) || !isObject(other)) return [name]
    return below(own, other, depth + 1).map(inner => `${name}.${inner}`)
  })
}

const isSame = (own: unknown, other: unknown): boolean =>
  own === undefined || other === undefined ? own === other : canonicalJson(own) === canonicalJson(other)

type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Names such as `__proto__` may be keys of documents. */
const fieldOf = (fields: Fields, name: string): unknown => (Object.hasOwn(fields, name) ? fields[name] : undefined)
