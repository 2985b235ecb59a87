/** The registry of extension points: filled while plugins are set up, frozen into arrays before the first one starts. */
import type { PointDescription } from './kernel-service.ts'
import type { Contribution, Point } from './plugin.ts'

interface OpenPoint {
  readonly owner: string
  readonly list: Contribution<unknown>[]
  readonly byId: Map<string, unknown>
}

export interface PointRegistry {
  /** Adds a contribution; one that is `optional` is dropped where nobody owns the point. Throws after the freeze and for an id that is taken. */
  contribute(point: string, contribution: Contribution<unknown>, optional?: boolean): void
  /** The reading side; what it returns throws until the freeze. */
  point(name: string): Point<unknown>
  /** Ends contributing. Throws when somebody contributed to a point that nobody owns, unless `allowUnowned`. */
  freeze(allowUnowned?: boolean): void
  describe(): readonly PointDescription[]
}

/** `owners` maps each point to the plugin that owns it. */
export function createPoints(owners: ReadonlyMap<string, string>): PointRegistry {
  const points = new Map<string, OpenPoint>()
  for (const [name, owner] of owners) points.set(name, { owner, list: [], byId: new Map() })
  const unowned: string[] = []
  let frozen = false

  const requireFrozen = (name: string): void => {
    if (!frozen) throw new Error(`the extension point "${name}" cannot be read before all plugins are set up`)
  }

  return {
    contribute(name, contribution, optional = false) {
      if (frozen) {
        throw new Error(`"${contribution.plugin}" contributes "${contribution.id}" to "${name}" after set-up`)
      }
      const point = points.get(name)
      if (point === undefined) {
        if (optional) return
        unowned.push(
          `"${contribution.plugin}" contributes "${contribution.id}" to "${name}", a point that no plugin owns`,
        )
        return
      }
      if (point.byId.has(contribution.id)) {
        const first = point.list.find(other => other.id === contribution.id)
        throw new Error(
          `"${contribution.id}" in "${name}" is contributed by both "${first?.plugin}" and "${contribution.plugin}"`,
        )
      }
      point.list.push(Object.freeze(contribution))
      point.byId.set(contribution.id, contribution.value)
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
          return point.byId.get(id)
        },
      }
    },
    freeze(allowUnowned = false) {
      if (unowned.length > 0 && !allowUnowned) throw new Error(unowned.join('\n'))
      frozen = true
      for (const point of points.values()) Object.freeze(point.list)
    },
    describe() {
      requireFrozen('*')
      return [...points].map(([name, { owner, list }]) => ({
        name,
        owner,
        contributions: list.map(({ id, plugin }) => ({ id, plugin })),
      }))
    },
  }
}
