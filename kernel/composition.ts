/**
 * Composes plugins. Each plugin is a singleton of a container, made by its set-up, and so is each service; before it makes one, the
 * container makes the plugins whose services it uses. Plugins are requested in the order of the configuration, which is kept
 * unless dependencies require another. Impossible orders are found before any plugin starts.
 */
import { AwilixResolutionError, asFunction, asValue, createContainer } from 'awilix/browser'
import type { AnyPlugin } from './plugin.ts'

/** A list of plugins that cannot run. `problems` has one sentence per problem. */
export class PluginGraphError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'PluginGraphError'
    this.problems = problems
  }
}

export interface CompositionOptions {
  readonly plugins: readonly AnyPlugin[]
  /** Services and extension points of the kernel itself: reserved for it. */
  readonly builtIn: { readonly services: Readonly<Record<string, unknown>>; readonly points: readonly string[] }
  /** Sets a plugin up with a frozen object of the services that it uses; returns those that it provides. */
  readonly setUp: (plugin: AnyPlugin, services: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
  /** Plugins to leave out; those that need them are added. */
  readonly skipped?: Set<string>
}

/** Sets up every plugin and returns all services. Throws PluginGraphError naming every duplicate and gap, or a cycle. */
export function composePlugins({ plugins, builtIn, setUp, skipped = new Set() }: CompositionOptions) {
  refuseDuplicatesAndGaps(plugins, builtIn)
  // Plugins and services have separate names: in the container those of plugins have a blank in front.
  const container = createContainer<Record<string, unknown>>({ strict: true })
  for (const [name, service] of Object.entries(builtIn.services)) container.register(name, asValue(service))
  for (const plugin of plugins) {
    const setUpOnce = (made: Record<string, unknown>) => {
      const services = wanted(plugin).map(name => [name, container.hasRegistration(name) ? made[name] : undefined])
      const present = Object.fromEntries(services.filter(([, service]) => service !== undefined))
      if (plugin.requires?.some((name: string) => present[name] === undefined)) skipped.add(plugin.name)
      return skipped.has(plugin.name) ? {} : setUp(plugin, Object.freeze(present))
    }
    container.register(` ${plugin.name}`, asFunction(setUpOnce).singleton())
    for (const service of plugin.provides ?? []) {
      const pick = (made: Record<string, unknown>) => (made[` ${plugin.name}`] as Record<string, unknown>)[service]
      container.register(service, asFunction(pick).singleton())
    }
  }
  try {
    for (const { name } of plugins) container.resolve(` ${name}`)
  } catch (error) {
    throw error instanceof AwilixResolutionError ? new PluginGraphError([describeCircle(error, plugins)]) : error
  }
  const names = [...Object.keys(builtIn.services), ...plugins.flatMap(plugin => plugin.provides ?? [])]
  return Object.freeze(Object.fromEntries(names.map(name => [name, container.resolve(name)])))
}

/** Services that the plugin gets if they are loaded. */
export function wanted(plugin: AnyPlugin): readonly string[] {
  return [...(plugin.requires ?? []), ...(plugin.optional ?? [])]
}

function refuseDuplicatesAndGaps(plugins: readonly AnyPlugin[], builtIn: CompositionOptions['builtIn']): void {
  const problems: string[] = []
  const names = new Set(['kernel'])
  const providers = new Map(Object.keys(builtIn.services).map(name => [name, 'kernel']))
  const owners = new Map(builtIn.points.map(name => [name, 'kernel']))
  const claim = (claims: Map<string, string>, name: string, plugin: string, sentence: string) => {
    const other = claims.get(name)
    if (other === undefined) claims.set(name, plugin)
    else problems.push(`the ${sentence} by both "${other}" and "${plugin}"`)
  }
  for (const { name, provides = [], points = {} } of plugins) {
    if (names.has(name)) problems.push(`two plugins are named "${name}"`)
    names.add(name)
    for (const service of provides) claim(providers, service, name, `service "${service}" is provided`)
    for (const point of Object.keys(points)) claim(owners, point, name, `extension point "${point}" is owned`)
  }
  for (const plugin of plugins) {
    for (const service of plugin.requires ?? []) {
      if (!providers.has(service)) {
        problems.push(`the plugin "${plugin.name}" requires the service "${service}", which no plugin provides`)
      }
    }
  }
  if (problems.length > 0) throw new PluginGraphError(problems)
}

/** The container's path: a plugin, a service for it, the plugin of that service… up to the first repeated element. */
function describeCircle(error: AwilixResolutionError, plugins: readonly AnyPlugin[]): string {
  const path = error.message.slice(error.message.lastIndexOf('Resolution path: ') + 'Resolution path: '.length)
  const names = path.split(' -> ')
  const entered = names.slice(names.indexOf(names.at(-1)!))
  // A cycle that was entered at a service is reported from its plugin on.
  const circle = entered[0].startsWith(' ') ? entered : [...entered.slice(1), entered[1]]
  const steps: string[] = []
  for (let i = 0; i + 2 < circle.length; i += 2) {
    const [user, service, provider] = [circle[i].slice(1), circle[i + 1], circle[i + 2].slice(1)]
    const isRequired = plugins.find(({ name }) => name === user)?.requires?.includes(service)
    steps.push(`"${user}" ${isRequired ? 'requires' : 'uses'} "${service}" of "${provider}"`)
  }
  return `plugins require each other in a circle: ${steps.join(', ')}`
}
