/**
 * The order of plugins: whoever provides a service comes before whoever requires it, and where nothing decides, the order
 * of the configuration stays. Everything that makes an order impossible is found before any plugin runs.
 */
import type { AnyPlugin } from './plugin.ts'

/** A list of plugins that cannot run. `problems` holds one sentence for each thing that is wrong. */
export class PluginGraphError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'PluginGraphError'
    this.problems = problems
  }
}

/** What the kernel itself provides and owns: reserved for plugins. */
export interface BuiltIn {
  readonly services: readonly string[]
  readonly points: readonly string[]
}

/** Sorts plugins by their services. Throws PluginGraphError naming every duplicate, gap and cycle. */
export function orderPlugins(plugins: readonly AnyPlugin[], builtIn: BuiltIn): readonly AnyPlugin[] {
  const problems: string[] = []
  const names = new Set(['kernel'])
  const providers = new Map<string, AnyPlugin | undefined>(builtIn.services.map(name => [name, undefined]))
  const owners = new Map<string, string>(builtIn.points.map(name => [name, 'kernel']))
  for (const plugin of plugins) {
    if (names.has(plugin.name)) problems.push(`two plugins are named "${plugin.name}"`)
    names.add(plugin.name)
    for (const service of plugin.provides ?? []) {
      const other = providers.get(service)
      if (providers.has(service)) {
        problems.push(`the service "${service}" is provided by both "${other?.name ?? 'kernel'}" and "${plugin.name}"`)
      } else providers.set(service, plugin)
    }
    for (const point of plugin.points ?? []) {
      const other = owners.get(point)
      if (other !== undefined) {
        problems.push(`the extension point "${point}" is owned by both "${other}" and "${plugin.name}"`)
      } else owners.set(point, plugin.name)
    }
  }
  for (const plugin of plugins) {
    for (const service of plugin.requires ?? []) {
      if (!providers.has(service)) {
        problems.push(`the plugin "${plugin.name}" requires the service "${service}", which no plugin provides`)
      }
    }
  }
  if (problems.length > 0) throw new PluginGraphError(problems)
  return visitAll(plugins, providers)
}

/** Depth first in configuration order, so that a plugin moves forward only when another one needs it. */
function visitAll(plugins: readonly AnyPlugin[], providers: ReadonlyMap<string, AnyPlugin | undefined>) {
  const order: AnyPlugin[] = []
  const done = new Set<AnyPlugin>()
  const path: AnyPlugin[] = []
  const visit = (plugin: AnyPlugin): void => {
    if (done.has(plugin)) return
    if (path.includes(plugin))
      throw new PluginGraphError([describeCycle([...path.slice(path.indexOf(plugin)), plugin])])
    path.push(plugin)
    for (const service of wanted(plugin)) {
      const provider = providers.get(service)
      if (provider !== undefined) visit(provider)
    }
    path.pop()
    done.add(plugin)
    order.push(plugin)
  }
  for (const plugin of plugins) visit(plugin)
  return order
}

/** Services that the plugin gets where they are there. */
export function wanted(plugin: AnyPlugin): readonly string[] {
  return [...(plugin.requires ?? []), ...(plugin.optional ?? [])]
}

function describeCycle(cycle: readonly AnyPlugin[]): string {
  const steps = cycle.slice(1).map((plugin, index) => {
    const service = wanted(cycle[index]).find(name => plugin.provides?.includes(name))
    const verb = cycle[index].requires?.includes(service) ? 'requires' : 'uses'
    return `"${cycle[index].name}" ${verb} "${service}" of "${plugin.name}"`
  })
  return `plugins require each other in a circle: ${steps.join(', ')}`
}
