/**
 * Takes plain JSON values apart into their shape, which many values share, and their leaves: texts and numbers. `{"a":[1,"x"],"b":true}` has the
 * shape `{"a":[0,0],"b":true}` and the leaves `[1,"x"]`. Very common texts are part of the shape, too; they are a fixed list, so that clients cannot
 * create shapes without limit.
 */

/** `0` stands for a leaf, a text for itself. */
export type Shape = 0 | string | boolean | null | readonly Shape[] | { readonly [name: string]: Shape }
export type Leaf = string | number

const common: ReadonlySet<string> = new Set(['object', 'null'])

/** Returns the shape of a value, and appends its leaves to `leaves`. Undefined fields are left out, as in JSON. */
export function takeApart(value: unknown, leaves: Leaf[]): Shape {
  if (typeof value === 'string' && common.has(value)) return value
  if (typeof value === 'string' || typeof value === 'number') {
    leaves.push(value)
    return 0
  }
  if (value === null || value === undefined) return null
  if (typeof value === 'boolean') return value
  if (Array.isArray(value)) return value.map(one => takeApart(one, leaves))
  // Without a prototype, so that every name is a field of its own, also `__proto__`.
  const shape: Record<string, Shape> = Object.create(null)
  for (const [name, one] of Object.entries(value)) if (one !== undefined) shape[name] = takeApart(one, leaves)
  return shape
}

/** `first`: index of the value's first leaf. */
export function putTogether(shape: Shape, leaves: readonly Leaf[], first = 0): unknown {
  let next = first
  const build = (part: Shape): unknown => {
    if (part === 0) return leaves[next++]
    if (part === null || typeof part === 'boolean' || typeof part === 'string') return part
    if (Array.isArray(part)) return part.map(build)
    const value: Record<string, unknown> = {}
    for (const name in part) set(value, name, build((part as Record<string, Shape>)[name] as Shape))
    return value
  }
  return build(shape)
}

function set(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}
