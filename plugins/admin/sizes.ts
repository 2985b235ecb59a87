/**
 * Compares the sizes of arrays and objects with the bounds of a schema, before anything looks at their values: the search for the problems
 * of a value takes microseconds for each of its parts, and a body has room for a million of them.
 */
import type { FieldProblem } from './errors.ts'
import { placeIn } from './pointers.ts'

/** The parts of a schema that bound a value. */
export interface SizedNode {
  readonly type?: string
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly properties?: Readonly<Record<string, SizedNode>>
  readonly additionalProperties?: unknown
  readonly patternProperties?: Readonly<Record<string, SizedNode>>
  readonly items?: SizedNode
  readonly anyOf?: readonly SizedNode[]
}

/** The first arrays and objects that are too large, at most `max`. What is in such a one, or has no schema, is not looked at. */
export function sizeProblems(value: unknown, schema: SizedNode, max: number): FieldProblem[] {
  const problems: FieldProblem[] = []
  measure(value, alternativesOf([schema]), '', problems, max)
  return problems
}

/** A value of an alternative may have the size of any of them. */
function measure(
  value: unknown,
  nodes: readonly SizedNode[],
  pointer: string,
  problems: FieldProblem[],
  max: number,
): void {
  if (typeof value !== 'object' || value === null || problems.length >= max) return
  if (Array.isArray(value)) {
    const arrays = nodes.filter(({ type }) => type === 'array')
    // Of another type, which one look at it shows.
    if (arrays.length === 0) return
    const itemsMax = Math.max(...arrays.map(({ maxItems = Number.POSITIVE_INFINITY }) => maxItems))
    if (value.length > itemsMax) {
      problems.push({ element: pointer, message: `must have at most ${itemsMax} entries` })
      return
    }
    const items = alternativesOf(arrays.flatMap(({ items }) => items ?? []))
    if (!items.some(hasParts)) return
    for (const [index, item] of value.entries()) measure(item, items, placeIn(pointer, index), problems, max)
    return
  }
  const objects = nodes.filter(({ type }) => type === 'object')
  if (objects.length === 0) return
  const names = Object.keys(value)
  const namesMax = Math.max(...objects.map(({ maxProperties = Number.POSITIVE_INFINITY }) => maxProperties))
  if (names.length > namesMax) {
    problems.push({ element: pointer, message: `must have at most ${namesMax} fields` })
    return
  }
  for (const name of names) {
    const fields = fieldsAt(objects, name)
    if (fields.length > 0) {
      measure((value as Record<string, unknown>)[name], fields, placeIn(pointer, name), problems, max)
    }
  }
}

const fieldsOfNodes = new WeakMap<SizedNode, Map<string, readonly SizedNode[]>>()
const none: readonly SizedNode[] = []

/** The schemas of a field that can have parts. */
function fieldsAt(objects: readonly SizedNode[], name: string): readonly SizedNode[] {
  if (objects.length === 1) return fieldsOf(objects[0], name)
  return objects.flatMap(node => fieldsOf(node, name))
}

function fieldsOf(node: SizedNode, name: string): readonly SizedNode[] {
  let known = fieldsOfNodes.get(node)
  if (known === undefined) {
    known = new Map(Object.entries(node.properties ?? {}).map(([field, schema]) => [field, partsOf([schema])]))
    known.set('', partsOf(othersOf(node)))
    fieldsOfNodes.set(node, known)
  }
  return (Object.hasOwn(node.properties ?? {}, name) ? known.get(name) : known.get('')) ?? none
}

/** The schemas of fields that are not declared by name. A pattern is not compared: the value itself shows whether it has the right one. */
function othersOf({ patternProperties = {}, additionalProperties }: SizedNode): readonly SizedNode[] {
  const others = Object.values(patternProperties)
  return typeof additionalProperties === 'object' ? [...others, additionalProperties as SizedNode] : others
}

const partsOf = (nodes: readonly SizedNode[]) => alternativesOf(nodes).filter(hasParts)

const hasParts = ({ type }: SizedNode) => type === 'array' || type === 'object'

function alternativesOf(nodes: readonly SizedNode[]): readonly SizedNode[] {
  return nodes.flatMap(node => (node.anyOf === undefined ? [node] : alternativesOf(node.anyOf)))
}
