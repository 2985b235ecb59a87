/**
 * Canonical JSON (RFC 8785): equal values have the same text. Properties are sorted by their UTF-16 code units, numbers and strings are
 * written as ECMAScript does, without whitespace.
 */
import { sealingErrors } from './errors.ts'

const depthMax = 64

/**
 * The canonical text of a plain JSON value. Omits properties whose value is undefined. Throws `invalid_document`, with a pointer to the
 * place, for values that JSON cannot represent (NaN, functions, lone surrogates, objects with a prototype) and below 64 levels.
 */
export function canonicalJson(value: unknown): string {
  return write(value, '', 0)
}

function write(value: unknown, pointer: string, depth: number): string {
  if (value === null || value === true || value === false) return String(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw refuse(pointer, 'is a number that JSON cannot hold')
    return JSON.stringify(value)
  }
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw refuse(pointer, 'holds half of a surrogate pair')
    return JSON.stringify(value)
  }
  if (typeof value !== 'object') throw refuse(pointer, `is a ${typeof value}, which JSON cannot hold`)
  if (depth === depthMax) throw refuse(pointer, `lies deeper than ${depthMax} levels`)
  if (Array.isArray(value)) {
    return `[${value.map((item, i) => write(item, `${pointer}/${i}`, depth + 1)).join(',')}]`
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw refuse(pointer, 'is no plain object')
  const members: string[] = []
  for (const name of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[name]
    if (member === undefined) continue
    const place = `${pointer}/${escapePointer(name)}`
    members.push(`${write(name, place, depth)}:${write(member, place, depth + 1)}`)
  }
  return `{${members.join(',')}}`
}

/** Escapes a name for a JSON Pointer (RFC 6901). */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

export function unescapePointer(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

function refuse(pointer: string, problem: string) {
  const field = pointer === '' ? '/' : pointer
  return sealingErrors.invalid_document(`${field} ${problem}.`, { extra: { Field: field } })
}
