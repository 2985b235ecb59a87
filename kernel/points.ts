/** The registry of extension points: filled while plugins are set up, frozen into arrays before the first one starts. */
import { schemaProblems } from './config/index.ts'
import type { PointDescription } from './kernel-service.ts'
import type { Contribution, ListedEntry, Point, PointDeclaration } from './plugin.ts'

export interface OwnedPoint extends PointDeclaration {
  readonly owner: string
}

interface OpenPoint extends OwnedPoint {
  readonly list: Contribution<unknown>[]
}

export interface PointRegistry {
  /** Adds a contribution; one that is `optional` is dropped if no plugin owns the point. Throws after the freeze and for a duplicate id. */
  contribute(point: string, contribution: Contribution<unknown>, optional?: boolean): void
  /** Adds those entries of a plugin's list whose services are loaded. Drops all if no plugin owns the point. */
  contributeListed(
    point: string,
    plugin: string,
    entries: readonly ListedEntry[],
    services: Readonly<Record<string, unknown>>,
  ): void
  /** The reading side; its methods throw until the freeze. */
  point(name: string): Point<unknown>
  /**
   * Ends contributing. Throws, with the names of plugins and contributions, if a contribution violates its point's declaration, or
   * if no plugin owns its point, unless `allowUnowned`.
   */
  freeze(allowUnowned?: boolean): void
  describe(): readonly PointDescription[]
}

/** Creates the registry of these points, by name. */
export function createPoints(owned: ReadonlyMap<string, OwnedPoint>): PointRegistry {
  const points = new Map<string, OpenPoint>()
  for (const [name, point] of owned) points.set(name, { ...point, list: [] })
  const unowned: string[] = []
  let frozen = false

  const requireFrozen = (name: string): void => {
    if (!frozen) throw new Error(`the extension point "${name}" cannot be read before all plugins are set up`)
  }

  const add = (point: OpenPoint, name: string, contribution: Contribution<unknown>): void => {
    const { id, plugin } = contribution
    const first = point.list.find(({ id: taken }) => taken === id)
    if (first !== undefined) {
      throw new Error(`"${id}" in "${name}" is contributed by both "${first.plugin}" and "${plugin}"`)
    }
    point.list.push(Object.freeze(contribution))
  }

  return {
    contribute(name, contribution, optional = false) {
      const { id, plugin } = contribution
      if (frozen) throw new Error(`"${plugin}" contributes "${id}" to "${name}" after set-up`)
      const point = points.get(name)
      if (point === undefined) {
        if (!optional) unowned.push(`"${plugin}" contributes "${id}" to "${name}", a point that no plugin owns`)
        return
      }
      if (point.listed?.isRequired)
        throw new Error(`"${plugin}" contributes "${id}" to "${name}" during set-up: list it in "contributes"`)
      add(point, name, contribution)
    },
    contributeListed(name, plugin, entries, services) {
      const point = points.get(name)
      if (point === undefined) return
      const { listed } = point
      if (listed === undefined) throw new Error(`"${plugin}" lists contributions to "${name}", which takes no lists`)
      for (const entry of entries) {
        if (entry.uses?.some(service => services[service] === undefined)) continue
        const value = listed.bind(entry as never, services as never)
        add(point, name, { id: listed.id(entry as never), plugin, value })
      }
    },
    point(name) {
      const point = points.get(name)
      if (point === undefined) throw new Error(`no plugin owns the extension point "${name}"`)
      return {
        list() {
          requireFrozen(name)
          return point.list
        },
        get(id) {
          requireFrozen(name)
          return point.list.find(contribution => contribution.id === id)?.value
        },
      }
    },
    freeze(allowUnowned = false) {
      const problems = allowUnowned ? [] : unowned
      for (const [name, point] of points) problems.push(...problemsOf(name, point))
      if (problems.length > 0) throw new Error(problems.join('\n'))
      frozen = true
      for (const point of points.values()) Object.freeze(point.list)
    },
    describe() {
      requireFrozen('*')
      return [...points].map(([name, { owner, cardinality, schema, list }]) => ({
        name,
        owner,
        cardinality,
        schema,
        contributions: list.map(({ id, plugin }) => ({ id, plugin })),
      }))
    },
  }
}

function problemsOf(name: string, { cardinality, schema, list }: OpenPoint): readonly string[] {
  const problems: string[] = []
  if (cardinality === 'one' && list.length > 1) {
    const several = list.map(({ id, plugin }) => `"${id}" of "${plugin}"`).join(' and ')
    problems.push(`the extension point "${name}" takes one contribution, and there are ${several}`)
  }
  for (const { id, plugin, value } of list) {
    for (const { path, message } of schemaProblems(schema, value)) {
      problems.push(`"${plugin}" contributes "${id}" to "${name}": ${path === '' ? 'it' : `its "${path}"`} ${message}`)
    }
  }
  return problems
}
