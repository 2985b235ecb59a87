/**
 * From method and path to an operation. Literal segments win over parameters, and a path that exists only with other
 * methods says which. Paths are compared segment by segment before they are decoded, so an encoded slash separates nothing.
 */
import type { AdminOperation } from './api.ts'
import { adminErrors } from './errors.ts'

export interface Route {
  readonly operation: AdminOperation
  readonly params: Readonly<Record<string, string>>
}

export interface Router {
  /** `rawPath` is relative to the base, percent-encoded. Throws `not_found`, `method_not_allowed`, `uri_too_long`. */
  find(method: string, rawPath: string): Route
}

interface Node {
  readonly literals: Map<string, Node>
  parameter: { readonly name: string; readonly node: Node } | undefined
  readonly operations: Map<string, AdminOperation>
}

/** Characters of one decoded segment. */
const segmentMax = 1024

export function createRouter(operations: readonly AdminOperation[]): Router {
  const root = createNode()
  for (const operation of operations) add(root, operation)
  return {
    find(method, rawPath) {
      const values = rawPath.split('/').slice(1).map(decode)
      const allowed = new Set<string>()
      const route = walk(root, values, 0, {}, method, allowed)
      if (route !== undefined) return route
      if (allowed.size === 0) throw adminErrors.not_found()
      throw adminErrors.method_not_allowed(undefined, { extra: { allow: [...allowed].sort().join(', ') } })
    },
  }
}

function createNode(): Node {
  return { literals: new Map(), parameter: undefined, operations: new Map() }
}

function add(root: Node, operation: AdminOperation): void {
  let node = root
  for (const segment of operation.path.split('/').slice(1)) {
    if (segment.startsWith('{')) {
      const name = segment.slice(1, -1)
      node.parameter ??= { name, node: createNode() }
      if (node.parameter.name !== name) {
        throw new Error(`${operation.path}: this place is called {${node.parameter.name}} elsewhere`)
      }
      node = node.parameter.node
    } else {
      let next = node.literals.get(segment)
      if (next === undefined) {
        next = createNode()
        node.literals.set(segment, next)
      }
      node = next
    }
  }
  const other = node.operations.get(operation.method)
  if (other !== undefined)
    throw new Error(`${other.id} and ${operation.id} are both ${operation.method} ${operation.path}`)
  node.operations.set(operation.method, operation)
}

function walk(
  node: Node,
  values: readonly string[],
  depth: number,
  params: Readonly<Record<string, string>>,
  method: string,
  allowed: Set<string>,
): Route | undefined {
  if (depth === values.length) {
    const operation = node.operations.get(method)
    if (operation !== undefined) return { operation, params }
    for (const other of node.operations.keys()) allowed.add(other)
    return undefined
  }
  const value = values[depth]
  const literal = node.literals.get(value)
  const found = literal === undefined ? undefined : walk(literal, values, depth + 1, params, method, allowed)
  if (found !== undefined || node.parameter === undefined || value === '') return found
  const { name, node: next } = node.parameter
  return walk(next, values, depth + 1, { ...params, [name]: value }, method, allowed)
}

function decode(segment: string): string {
  if (segment.length > segmentMax * 3) throw adminErrors.uri_too_long()
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch {
    throw adminErrors.invalid_argument('The path is not percent-encoded UTF-8.')
  }
  if (text.length > segmentMax) throw adminErrors.uri_too_long()
  return text
}
