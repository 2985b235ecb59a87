/** `svc plugins`: what a start would load, found without starting anything and without the settings that a start requires. */
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Boot } from './boot.ts'
import { resolveConfiguration } from './config/index.ts'
import type { FoundPlugin, PluginModule } from './discover.ts'
import { createKernel } from './kernel.ts'
import type { CliIo, PointDescription } from './kernel-service.ts'
import { createLogger, createStderrSink } from './log.ts'
import type { AnyPlugin } from './plugin.ts'
import { kernelSection } from './settings.ts'

export interface ListedPlugin {
  readonly name: string
  readonly version: string
  /** `missing`: a package that it needs is not installed. `refused`: it requires what a disabled plugin provides. */
  readonly state: FoundPlugin['state'] | 'missing' | 'refused'
  readonly reason?: string
  /** As the configuration names it. */
  readonly module: string
  readonly path: string
  readonly requires: readonly string[]
  readonly optional: readonly string[]
  readonly provides: readonly string[]
  readonly points: readonly string[]
  /** Ids of its contributions, by extension point. */
  readonly extends: Readonly<Record<string, readonly string[]>>
}

type Booted = Pick<Boot, 'discovery' | 'plugins' | 'resolved' | 'falling'>

/** Lists the plugins of a start. `problem`: why it would be refused, and why what plugins extend may be missing. */
export function listPlugins({ discovery, plugins, resolved, falling }: Booted, version: string) {
  const running = plugins.filter(({ name }) => !falling.has(name))
  const own = pointsOf(running, resolved.sections)
  const listed = discovery.found.map(({ plugin, module, state }): ListedPlugin => {
    const isFalling = state === 'loaded' && falling.has(plugin.name)
    // What does not run is shown as if it did, with everything that it would meet.
    const points =
      state === 'loaded' && !isFalling ? own.points : pointsWith(plugin, discovery.found, resolved.sections)
    return {
      name: plugin.name,
      version: plugin.version ?? versionOf(module, version),
      state: isFalling ? 'refused' : state,
      ...(isFalling && { reason: falling.get(plugin.name)! }),
      module: module.name,
      path: fileURLToPath(module.url),
      requires: plugin.requires ?? [],
      optional: plugin.optional ?? [],
      provides: plugin.provides ?? [],
      points: Object.keys(plugin.points ?? {}),
      extends: extensionsOf(plugin.name, points),
    }
  })
  const missing = discovery.absent.map(({ module, reason }): ListedPlugin => {
    const about = { requires: [], optional: [], provides: [], points: [], extends: {} }
    const name = module.name.split('/').at(-1)!
    return { name, version, state: 'missing', reason, module: module.name, path: fileURLToPath(module.url), ...about }
  })
  const problems = [...new Set(falling.values()), ...(own.problem === undefined ? [] : [own.problem])]
  return { plugins: [...listed, ...missing], problems }
}

interface FoundPoints {
  readonly points: readonly PointDescription[]
  readonly problem?: string
}

/** Sets up the plugins, with something in the place of each required setting that is missing. */
export function pointsOf(plugins: readonly AnyPlugin[], sections: Boot['resolved']['sections']): FoundPoints {
  const log = createLogger('error', createStderrSink('text'))
  try {
    const standIns = resolveConfiguration([kernelSection, ...plugins], { argv: [], env: {} }, { standIns: true })
    const kernel = createKernel({
      plugins,
      config: { ...standIns.sections, ...sections },
      log,
    })
    kernel.setup()
    return { points: kernel.service.points() }
  } catch (error) {
    return { points: [], problem: (error as Error).message }
  }
}

/** As if that plugin ran beside all others that do, or would: in the place of whichever has its name. */
function pointsWith(plugin: AnyPlugin, found: readonly FoundPlugin[], sections: Boot['resolved']['sections']) {
  const others = found.filter(other => other.plugin.name !== plugin.name && other.state !== 'replaced')
  return pointsOf([...others.map(other => other.plugin), plugin], sections).points
}

function extensionsOf(plugin: string, points: readonly PointDescription[]): ListedPlugin['extends'] {
  const entries = points.map(({ name, contributions }) => {
    const ids = contributions.filter(contribution => contribution.plugin === plugin).map(({ id }) => id)
    return [name, ids.sort()] as const
  })
  return Object.fromEntries(entries.filter(([, ids]) => ids.length > 0))
}

/** What ships has the version of the server, a package its own; a file has none. */
function versionOf({ name, url }: PluginModule, version: string): string {
  if (name.startsWith('svc/')) return version
  const file = name.startsWith('.') || isAbsolute(name) ? undefined : findPackageJSON(url)
  const found: { version?: string } = file === undefined ? {} : JSON.parse(readFileSync(file, 'utf8'))
  return found.version ?? 'unknown'
}

/** Prints the list. Exit code 1 where the start would be refused for the plugins alone. */
export function printPlugins(booted: Booted, version: string, asJson: boolean, io: CliIo): number {
  const { plugins, problems } = listPlugins(booted, version)
  io.stdout.write(asJson ? `${JSON.stringify({ plugins, problems }, undefined, 2)}\n` : describePlugins(plugins))
  for (const problem of problems) io.stderr.write(`svc: ${problem}\n`)
  return problems.length === 0 ? 0 : 1
}

function describePlugins(plugins: readonly ListedPlugin[]): string {
  return plugins.map(plugin => `${describePlugin(plugin).join('\n  ')}\n`).join('')
}

function describePlugin({ name, version, state, reason, module, path, ...about }: ListedPlugin): string[] {
  const place = module.startsWith('svc/') || module === path ? module : `${module} (${path})`
  const remark = state === 'loaded' ? '' : `: ${state}${reason === undefined ? '' : `, ${reason}`}`
  const extended = Object.entries(about.extends).map(([point, ids]) => `${point} (${ids.join(' ')})`)
  const facts = [
    ['services', about.provides],
    ['points', about.points],
    ['extends', extended],
  ] as const
  const lines = facts.filter(([, values]) => values.length > 0).map(([fact, values]) => `${fact}: ${values.join(', ')}`)
  return [`${name} ${version} from ${place}${remark}`, ...lines]
}
