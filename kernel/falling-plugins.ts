/** What the other plugins lose with those that the operator has disabled. */
import type { Boot } from './boot.ts'
import { type Discovery, loadedOf } from './discover.ts'
import type { AnyPlugin } from './plugin.ts'
import { pointsOf } from './plugin-list.ts'

/** The reason by the name of the plugin: a sentence for each disabled plugin that others require, with all of them in it. */
export function fallingPlugins(discovery: Discovery): ReadonlyMap<string, string> {
  const loaded = loadedOf(discovery)
  const disabled = discovery.found.filter(({ state }) => state === 'disabled').map(({ plugin }) => plugin)
  const there = servicesOf(loaded)
  const reasons = new Map<string, string>()
  for (const plugin of disabled) {
    const steps: string[] = []
    const names: string[] = []
    let absent = [...servicesOf([plugin])].filter(service => !there.has(service))
    while (absent.length > 0) {
      const next: AnyPlugin[] = []
      for (const other of loaded) {
        const service = absent.find(name => other.requires?.includes(name))
        if (service === undefined || names.includes(other.name)) continue
        names.push(other.name)
        next.push(other)
        steps.push(`"${other.name}" requires the service "${service}"`)
      }
      absent = [...servicesOf(next)]
    }
    if (steps.length === 0) continue
    const all = JSON.stringify({ disable: [plugin.name, ...names] })
    const reason = `${startOfReason(plugin.name)}: ${steps.join(', ')}. ${all} would leave out all of them`
    for (const name of names) if (!reasons.has(name)) reasons.set(name, reason)
  }
  return reasons
}

const startOfReason = (name: string) => `the plugin "${name}" cannot be disabled alone`

function servicesOf(plugins: readonly AnyPlugin[]): ReadonlySet<string> {
  return new Set(plugins.flatMap(({ provides = [] }) => provides as readonly string[]))
}

export interface DisabledPlugin {
  readonly name: string
  /** What its neighbours go on without: `clerk would use its service`. */
  readonly effects: readonly string[]
}

/** Sets up the plugins as if none were disabled: which contributions are dropped is known only then. */
export function withoutDisabled({
  discovery,
  plugins,
  falling,
  resolved,
}: Pick<Boot, 'discovery' | 'plugins' | 'falling' | 'resolved'>): readonly DisabledPlugin[] {
  const disabled = discovery.found.filter(({ state }) => state === 'disabled').map(({ plugin }) => plugin)
  if (disabled.length === 0) return []
  const { points } = pointsOf([...plugins, ...disabled], resolved.sections)
  const there = servicesOf(plugins)
  const staying = plugins.filter(({ name }) => !falling.has(name))
  return disabled.map(({ name, provides = [] }) => {
    const effects: string[] = []
    const refused = [...falling]
      .filter(([, reason]) => reason.startsWith(startOfReason(name)))
      .map(([plugin]) => plugin)
    if (refused.length > 0) effects.push(`${list(refused)} cannot run without it`)
    const users = staying.filter(({ optional = [] }) =>
      optional.some((service: string) => provides.includes(service) && !there.has(service)),
    )
    if (users.length > 0) effects.push(`${list(users.map(user => user.name))} would use its services`)
    for (const { name: point, owner, contributions } of points) {
      const contributors = new Set(contributions.map(({ plugin }) => plugin))
      const losing = owner === name ? staying.filter(plugin => contributors.has(plugin.name)) : []
      if (losing.length > 0)
        effects.push(`contributions to ${point} are dropped: ${list(losing.map(plugin => plugin.name))}`)
    }
    return { name, effects: effects.length > 0 ? effects : ['no other plugin uses it'] }
  })
}

const list = (names: readonly string[]) => names.join(', ')
