/**
 * Finds the secret fields of documents, those with `secret: true` in the schema: once per declaration as patterns, then in each value as
 * places.
 */

import { escapePointer, unescapePointer } from 'svc/plugins/sealing/api'
import type { TSchema } from 'typebox'

/** A step from a value to a value inside it: a property or an index, or each property that is not named in the set. */
type Step = string | { readonly eachExcept: ReadonlySet<string> }
export type SecretPattern = readonly Step[]

type Container = Record<string, unknown>

/** One secret in a value: `container[name]`. */
export interface SecretPlace {
  readonly container: Container
  readonly name: string
  /** JSON Pointer (RFC 6901). */
  readonly pointer: string
}

interface SchemaNode {
  readonly secret?: boolean
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: boolean | SchemaNode
  readonly items?: SchemaNode | readonly SchemaNode[]
}

const nobody: ReadonlySet<string> = new Set()

/** Throws TypeError if `secret` is inside a union, where the value alone does not tell whether it is secret. */
export function findSecretFields(schema: TSchema): readonly SecretPattern[] {
  const found: SecretPattern[] = []
  visit(schema as SchemaNode, [], found)
  if (found.some(pattern => pattern.length === 0)) throw new TypeError('a whole document cannot be a secret field')
  return found
}

function visit(node: SchemaNode, path: SecretPattern, found: SecretPattern[]): void {
  if (node.secret === true) {
    found.push(path)
    return
  }
  const { properties = {}, patternProperties = {}, additionalProperties, items, ...others } = node
  const named = new Set(Object.keys(properties))
  for (const [name, inner] of Object.entries(properties)) visit(inner, [...path, name], found)
  for (const inner of Object.values(patternProperties)) visit(inner, [...path, { eachExcept: named }], found)
  if (typeof additionalProperties === 'object') visit(additionalProperties, [...path, { eachExcept: named }], found)
  if (Array.isArray(items)) for (const [i, inner] of items.entries()) visit(inner, [...path, String(i)], found)
  else if (items !== undefined) visit(items as SchemaNode, [...path, { eachExcept: nobody }], found)
  if (holdsSecret(others)) {
    throw new TypeError('`secret` stands inside a union, an intersection or a reference: say it of the whole field')
  }
}

function holdsSecret(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return (value as SchemaNode).secret === true || Object.values(value).some(holdsSecret)
}

/** All secrets of a value. */
export function secretPlaces(value: unknown, patterns: readonly SecretPattern[]): SecretPlace[] {
  const places: SecretPlace[] = []
  for (const pattern of patterns) collect(value, pattern, '', places)
  return places
}

function collect(value: unknown, pattern: SecretPattern, pointer: string, places: SecretPlace[]): void {
  if (typeof value !== 'object' || value === null) return
  const container = value as Container
  const [step, ...rest] = pattern as [Step, ...Step[]]
  const names =
    typeof step === 'string'
      ? Object.hasOwn(container, step)
        ? [step]
        : []
      : Object.keys(container).filter(name => !step.eachExcept.has(name))
  for (const name of names) {
    const place = `${pointer}/${escapePointer(name)}`
    if (rest.length > 0) collect(container[name], rest, place, places)
    else places.push({ container, name, pointer: place })
  }
}

/** The place that a pointer names. Throws RangeError if the value has no such place. */
export function placeAt(value: unknown, pointer: string): SecretPlace {
  const steps = pointer.split('/').slice(1).map(unescapePointer)
  const name = steps.pop()
  let container = value
  for (const step of steps) {
    if (typeof container !== 'object' || container === null || !Object.hasOwn(container, step)) container = undefined
    else container = (container as Container)[step]
  }
  if (name === undefined || typeof container !== 'object' || container === null || !Object.hasOwn(container, name)) {
    throw new RangeError(`there is no place ${pointer}`)
  }
  return { container: container as Container, name, pointer }
}
