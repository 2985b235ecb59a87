/**
 * Finds the operation of a request. The table is compiled once: by level and method, then by the number of constraints, so that the order
 * of registration does not matter. Of two matching operations the one with more constraints wins; two operations with the same constraints
 * are refused at the start.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Contribution } from 'svc/kernel'
import type { Level, S3Operation } from './api.ts'

export interface DispatchTable {
  find(
    level: Level,
    method: string,
    query: ReadonlyMap<string, string>,
    headers: IncomingHttpHeaders,
  ): S3Operation | undefined
  /** The methods that a level accepts with this query and these headers, for `Allow`. Sorted. */
  methods(level: Level, query: ReadonlyMap<string, string>, headers: IncomingHttpHeaders): readonly string[]
  /** The methods of operations at this level that require a parameter, alone or with others; undefined if there are none. */
  selecting(level: Level, parameter: string): ReadonlySet<string> | undefined
}

interface Row {
  readonly operation: S3Operation
  readonly query: readonly { readonly name: string; readonly value: string | undefined }[]
  readonly header: string | undefined
}

export function createDispatchTable(operations: readonly Contribution<S3Operation>[]): DispatchTable {
  const rows = new Map<string, Row[]>()
  const selecting = new Map<string, Set<string>>()
  const owners = new Map<string, string>()
  for (const { plugin, value: operation } of operations) {
    const { method, level, query = [], header } = operation.match
    const constraints = `${method} ${level} ?${[...query].sort().join('&')} ${header?.toLowerCase() ?? ''}`
    const owner = owners.get(constraints)
    if (owner !== undefined) {
      throw new Error(
        `${operation.name} of the plugin "${plugin}" has the same constraints as ${owner}: ${constraints}`,
      )
    }
    owners.set(constraints, `${operation.name} of the plugin "${plugin}"`)
    const row: Row = {
      operation,
      header: header?.toLowerCase(),
      query: query.map(constraint => {
        const equals = constraint.indexOf('=')
        return equals === -1
          ? { name: constraint, value: undefined }
          : { name: constraint.slice(0, equals), value: constraint.slice(equals + 1) }
      }),
    }
    for (const { name } of row.query) {
      const methods = selecting.get(`${level} ${name}`)
      if (methods === undefined) selecting.set(`${level} ${name}`, new Set([method]))
      else methods.add(method)
    }
    const list = rows.get(`${level} ${method}`)
    if (list === undefined) rows.set(`${level} ${method}`, [row])
    else list.push(row)
  }
  for (const list of rows.values()) {
    list.sort((a, b) => weight(b) - weight(a) || (a.operation.name < b.operation.name ? -1 : 1))
  }
  const levels: Record<Level, Map<string, Row[]>> = { service: new Map(), bucket: new Map(), object: new Map() }
  for (const [place, list] of rows) {
    const [level, method] = place.split(' ') as [Level, string]
    levels[level].set(method, list)
  }

  const find: DispatchTable['find'] = (level, method, query, headers) => {
    const list = levels[level].get(method)
    if (list === undefined) return undefined
    for (const row of list) if (matches(row, query, headers)) return row.operation
    return undefined
  }

  return {
    find,
    methods: (level, query, headers) =>
      [...levels[level].keys()].filter(method => find(level, method, query, headers) !== undefined).sort(),
    selecting: (level, parameter) => selecting.get(`${level} ${parameter}`),
  }
}

/** A required value counts more than a name; a header breaks the tie between operations with the same parameters. */
function weight(row: Row): number {
  return row.query.length * 4 + row.query.filter(item => item.value !== undefined).length * 2 + (row.header ? 1 : 0)
}

function matches(row: Row, query: ReadonlyMap<string, string>, headers: IncomingHttpHeaders): boolean {
  for (const { name, value } of row.query) {
    const given = query.get(name)
    if (given === undefined || (value !== undefined && given !== value)) return false
  }
  return row.header === undefined || headers[row.header] !== undefined
}
