/** From the command line to plugins with their configuration: the first step of every command. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Type } from 'typebox'
import { PluginGraphError } from '../composition.ts'
import {
  ConfigurationError,
  type ConfigurationProblem,
  type ConfigurationSources,
  configurationKeys,
  type ResolvedConfiguration,
  resolveConfiguration,
} from '../config/index.ts'
import type { AnyPlugin } from '../plugin.ts'
import {
  type Discovery,
  DiscoveryError,
  discoverPlugins,
  type PluginSelection,
  pluginsIn,
  selectPlugins,
} from './discover.ts'
import { type KernelConfiguration, KernelSettings, kernelSection } from './settings.ts'
import { fallingPlugins } from './start-facts.ts'

export interface Boot {
  /** The modules of the plugins, for worker threads. */
  readonly selection: PluginSelection
  /** All plugins of the modules, those that are disabled among them. */
  readonly discovery: Discovery
  /** The plugins to run. */
  readonly plugins: readonly AnyPlugin[]
  /** Plugins that cannot run because they require a service of a disabled one: the reason by the name. */
  readonly falling: ReadonlyMap<string, string>
  readonly resolved: ResolvedConfiguration
  /** The kernel's own settings; undefined when one of them has a problem. */
  readonly settings: KernelConfiguration | undefined
}

/** The settings that are needed before the plugins, and so their keys, are known. */
const { configFile, plugins } = KernelSettings.properties
const firstLook = { name: 'kernel', config: Type.Object({ configFile, plugins }) }

/**
 * Throws ConfigurationError when file or plugin list cannot be used, DiscoveryError when a plugin cannot. With `requireAll` it throws
 * PluginGraphError if a plugin requires a service of a disabled one.
 */
export async function boot(
  argv: readonly string[],
  env: ConfigurationSources['env'],
  directory: string,
  { requireAll = true } = {},
): Promise<Boot> {
  const look = (file?: ConfigurationSources['file']) => {
    const { sections, problems, origins } = resolveConfiguration(
      [firstLook],
      { argv, env, file },
      { ignoreUnknown: true },
    )
    if (problems.length > 0) throw new ConfigurationError(problems)
    return { ...(sections.kernel as Pick<KernelConfiguration, 'configFile' | 'plugins'>), origins }
  }
  const named = look().configFile
  const path = named === undefined ? undefined : resolve(directory, named)
  const file = path === undefined ? undefined : { path, content: readConfigurationFile(path) }
  // Without a file, the current directory is the place: the URL of some file in it.
  const base = pathToFileURL(path ?? resolve(directory, 'svc.json'))
  const { plugins: entries, origins } = look(file)
  const [origin] = [...origins].filter(([{ property }]) => property === 'plugins').map(([, source]) => source)
  const discover = async () => {
    const selection = selectPlugins(entries, base)
    return { selection, discovery: await discoverPlugins(selection) }
  }
  const { selection, discovery } = await discover().catch(error => {
    // A module that is not there or is broken has a cause. Other errors are about the list as a whole.
    if (error instanceof DiscoveryError && error.cause !== undefined && origin !== undefined)
      error.message += placeOf(error.entry, origin)
    throw error
  })
  const plugins = pluginsIn(discovery, 'loaded')
  const falling = fallingPlugins(discovery)
  if (requireAll && falling.size > 0) throw new PluginGraphError([...new Set(falling.values())])
  const { problems, ...resolved } = resolveConfiguration([kernelSection, ...plugins], { argv, env, file })
  const explain = explainDisabled(discovery)
  return {
    selection,
    discovery,
    plugins,
    falling,
    resolved: { ...resolved, problems: problems.map(explain) },
    settings: resolved.sections.kernel as KernelConfiguration | undefined,
  }
}

/** Where the operator finds the entry of the list of plugins. */
function placeOf(entry: string, origin: string): string {
  if (origin === 'flag') return ' (named by --plugins)'
  if (origin === 'environment') return ' (named by SVC_PLUGINS)'
  const lines = readFileSync(origin, 'utf8').split('\n')
  const line = 1 + lines.findIndex(text => text.includes(JSON.stringify(entry)))
  return ` (named by "plugins" in ${origin}${line === 0 ? '' : `, line ${line}`})`
}

/** An unknown setting may belong to a disabled plugin: then the message says so. */
function explainDisabled(discovery: Discovery): (problem: ConfigurationProblem) => ConfigurationProblem {
  // The plugin's own name: the file names the section alone where no loaded plugin has it.
  const names = configurationKeys(pluginsIn(discovery, 'disabled')).flatMap(
    ({ plugin, variable, flag, fileKey, secret }) =>
      [variable, secret && `${variable}_FILE`, flag && `--${flag}`, fileKey, plugin].map(
        name => [name, plugin] as const,
      ),
  )
  const owners = new Map<unknown, string>(names)
  return problem => {
    const owner = problem.plugin === undefined ? owners.get(problem.key) : undefined
    return owner === undefined
      ? problem
      : {
          ...problem,
          message: `belongs to the plugin "${owner}", which is disabled: remove the setting, or enable the plugin`,
        }
  }
}

function readConfigurationFile(path: string): Record<string, unknown> {
  const refuse = (message: string) =>
    new ConfigurationError([{ key: 'the configuration file', source: path, message, plugin: 'kernel' }])
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw refuse(`cannot be read: ${(error as Error).message}`)
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) throw refuse('must hold a JSON object')
  return content as Record<string, unknown>
}
