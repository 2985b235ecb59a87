/** Determines what a start would load and leave out, without starting anything and without the settings that a start requires. */
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import { resolveConfiguration } from '../config/index.ts'
import type { Kernel } from '../kernel.ts'
import type { PointDescription } from '../kernel-service.ts'
import type { AnyPlugin } from '../plugin.ts'
import type { Boot } from './boot.ts'
import { type Discovery, type FoundPlugin, type PluginModule, pluginsIn } from './discover.ts'
import { createHostKernel } from './host-kernel.ts'
import { createLogger, createStderrSink } from './log.ts'
import { currentBuild } from './revision.ts'
import { kernelSection } from './settings.ts'

type Booted = Pick<Boot, 'discovery' | 'plugins' | 'resolved' | 'falling'>
type Sections = Boot['resolved']['sections']

/** Sets plugins up to list their contributions, with placeholders for missing required settings. Never used to run. */
function setUpToAsk(plugins: readonly AnyPlugin[], sections: Sections): Kernel {
  const standIns = resolveConfiguration([kernelSection, ...plugins], { argv: [], env: {} }, { standIns: true })
  const log = createLogger('error', createStderrSink('text'))
  const kernel = createHostKernel({ plugins, config: { ...standIns.sections, ...sections }, log })
  kernel.setup()
  return kernel
}

/**
 * The loaded plugins that cannot run because they require a service of a disabled one. The reason by the name: a sentence for each
 * disabled plugin that others require, with all of them in it.
 */
export function fallingPlugins(discovery: Discovery): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>()
  for (const plugin of pluginsIn(discovery, 'disabled')) {
    const fallen = dependentsOf(plugin, pluginsIn(discovery, 'loaded'))
    if (fallen.size === 0) continue
    const steps = Array.from(fallen, ([name, service]) => `"${name}" requires the service "${service}"`).join(', ')
    const all = JSON.stringify({ disable: [plugin.name, ...fallen.keys()] })
    const reason = `the plugin "${plugin.name}" cannot be disabled alone: ${steps}. ${all} would leave out all of them`
    for (const name of fallen.keys()) if (!reasons.has(name)) reasons.set(name, reason)
  }
  return reasons
}

/** Plugins that cannot run without the plugin, directly or indirectly: by name, the service that each would lack. */
function dependentsOf(plugin: AnyPlugin, loaded: readonly AnyPlugin[]): ReadonlyMap<string, string> {
  const fallen = new Map<string, string>()
  let absent = absentServices(plugin, loaded)
  while (absent.length > 0) {
    const next: string[] = []
    for (const { name, requires = [], provides = [] } of loaded) {
      const service = absent.find(each => requires.includes(each))
      if (service === undefined || fallen.has(name)) continue
      fallen.set(name, service)
      next.push(...provides)
    }
    absent = next
  }
  return fallen
}

function absentServices({ provides = [] }: AnyPlugin, loaded: readonly AnyPlugin[]): readonly string[] {
  return provides.filter((service: string) => !loaded.some(other => other.provides?.includes(service)))
}

/** The effects of disabled plugins on the others: `bell; clerk would use its services`. */
export function effectsOfDisabling({ discovery, plugins, falling, resolved }: Booted): readonly string[] {
  const disabled = pluginsIn(discovery, 'disabled')
  if (disabled.length === 0) return []
  // Which contributions are dropped is known only as if all ran.
  const { points } = pointsOf([...plugins, ...disabled], resolved.sections)
  const staying = plugins.filter(({ name }) => !falling.has(name))
  const list = (names: Iterable<string>) => [...names].join(', ')
  return disabled.map(plugin => {
    const fallen = dependentsOf(plugin, plugins)
    const absent = absentServices(plugin, plugins)
    const users = staying.filter(({ optional = [] }) => absent.some(service => optional.includes(service)))
    const effects = [
      ...(fallen.size > 0 ? [`${list(fallen.keys())} cannot run without it`] : []),
      ...(users.length > 0 ? [`${list(users.map(({ name }) => name))} would use its services`] : []),
    ]
    for (const { name, owner, contributions } of points) {
      const losing = staying.filter(each => contributions.some(contribution => contribution.plugin === each.name))
      if (owner !== plugin.name || losing.length === 0) continue
      effects.push(`contributions to ${name} are dropped: ${list(losing.map(each => each.name))}`)
    }
    return [plugin.name, ...(effects.length > 0 ? effects : ['no other plugin uses it'])].join('; ')
  })
}

export interface ListedPlugin {
  readonly name: string
  readonly version: string
  /** `missing`: a package that it needs is not installed. `refused`: it requires a service of a disabled plugin. */
  readonly state: FoundPlugin['state'] | 'missing' | 'refused'
  readonly reason?: string
  /** The module as the configuration names it. */
  readonly module: string
  readonly path: string
  readonly requires: readonly string[]
  readonly optional: readonly string[]
  readonly provides: readonly string[]
  readonly points: readonly string[]
  /** Ids of its contributions, by extension point. */
  readonly extends: Readonly<Record<string, readonly string[]>>
}

/** Lists the plugins of a start. `problems`: why it would be refused, and why contributions may be missing. */
export function listPlugins({ discovery, plugins, resolved: { sections }, falling }: Booted) {
  const { version } = currentBuild()
  const own = pointsOf(
    plugins.filter(({ name }) => !falling.has(name)),
    sections,
  )
  // A plugin that does not run is shown as if it ran beside the others, in the place of the one with its name.
  const pointsWith = (plugin: AnyPlugin) => {
    const others = discovery.found.filter(other => other.plugin.name !== plugin.name && other.state !== 'replaced')
    return pointsOf([...others.map(other => other.plugin), plugin], sections).points
  }
  const listed = discovery.found.map(({ plugin, module, state }): ListedPlugin => {
    const reason = state === 'loaded' ? falling.get(plugin.name) : undefined
    const { name, requires = [], optional = [], provides = [], points = {} } = plugin
    return {
      name,
      version: plugin.version ?? versionOf(module, version),
      state: reason === undefined ? state : 'refused',
      ...(reason !== undefined && { reason }),
      ...placeOf(module),
      requires,
      optional,
      provides,
      points: Object.keys(points),
      extends: extensionsOf(name, state === 'loaded' && reason === undefined ? own.points : pointsWith(plugin)),
    }
  })
  const missing = discovery.absent.map(({ module, reason }): ListedPlugin => {
    const about = { requires: [], optional: [], provides: [], points: [], extends: {} }
    return { name: module.name.split('/').at(-1)!, version, state: 'missing', reason, ...placeOf(module), ...about }
  })
  const problems = [...new Set(falling.values()), ...(own.problem === undefined ? [] : [own.problem])]
  return { plugins: [...listed, ...missing], problems }
}

const placeOf = ({ name, url }: PluginModule) => ({ module: name, path: fileURLToPath(url) })

function pointsOf(plugins: readonly AnyPlugin[], sections: Sections) {
  try {
    return { points: setUpToAsk(plugins, sections).service.points() }
  } catch (error) {
    return { points: [], problem: (error as Error).message }
  }
}

function extensionsOf(plugin: string, points: readonly PointDescription[]): ListedPlugin['extends'] {
  const entries = points.map(({ name, contributions }) => {
    const ids = contributions.filter(contribution => contribution.plugin === plugin).map(({ id }) => id)
    return [name, ids.sort()] as const
  })
  return Object.fromEntries(entries.filter(([, ids]) => ids.length > 0))
}

/** Bundled plugins have the version of the server, packages their own; files have none. */
function versionOf({ name, url }: PluginModule, version: string): string {
  if (name.startsWith('svc/')) return version
  const file = name.startsWith('.') || isAbsolute(name) ? undefined : findPackageJSON(url)
  const found: { version?: string } = file === undefined ? {} : JSON.parse(readFileSync(file, 'utf8'))
  return found.version ?? 'unknown'
}
