/** From the command line to plugins with their configuration: what every command does first. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Type } from 'typebox'
import {
  ConfigurationError,
  type ConfigurationSources,
  type ResolvedConfiguration,
  resolveConfiguration,
} from './config.ts'
import { loadPlugins, type PluginModule, resolvePluginModules } from './discover.ts'
import type { AnyPlugin } from './plugin.ts'
import { type KernelConfiguration, KernelSettings, kernelSection } from './settings.ts'

export interface Boot {
  /** Where the plugins come from: what worker threads load again. */
  readonly modules: readonly PluginModule[]
  readonly plugins: readonly AnyPlugin[]
  readonly resolved: ResolvedConfiguration
  /** The kernel's own settings; undefined when one of them has a problem. */
  readonly settings: KernelConfiguration | undefined
}

/** What has to be known before there are plugins whose keys could be known. */
const { configFile, plugins } = KernelSettings.properties
const firstLook = { name: 'kernel', config: Type.Object({ configFile, plugins }) }

/** Throws ConfigurationError when file or plugin list cannot be used, DiscoveryError when a plugin cannot. */
export async function boot(
  argv: readonly string[],
  env: ConfigurationSources['env'],
  directory: string,
): Promise<Boot> {
  const look = (file?: ConfigurationSources['file']) => {
    const { sections, problems } = resolveConfiguration([firstLook], { argv, env, file }, { ignoreUnknown: true })
    if (problems.length > 0) throw new ConfigurationError(problems)
    return sections.kernel as Pick<KernelConfiguration, 'configFile' | 'plugins'>
  }
  const named = look().configFile
  const path = named === undefined ? undefined : resolve(directory, named)
  const file = path === undefined ? undefined : { path, content: readConfigurationFile(path) }
  // Without a file, the current directory is the place: the URL of some file in it.
  const modules = resolvePluginModules(look(file).plugins, pathToFileURL(path ?? resolve(directory, 'svc.json')))
  const loaded = await loadPlugins(modules)
  const resolved = resolveConfiguration([kernelSection, ...loaded], { argv, env, file })
  const settings = resolved.sections.kernel as KernelConfiguration | undefined
  return { modules, plugins: loaded, resolved, settings }
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
