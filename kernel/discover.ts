/**
 * From configured names to plugins. Names of our own package always mean this very installation, so that there is one
 * kernel; all others are resolved from the place of the configuration file, as if it imported them. Anything that does not
 * resolve, load or look like a plugin stops the start.
 */
import { registerHooks } from 'node:module'
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyPlugin } from './plugin.ts'

/** A module of plugins that cannot be used; the message names it and says why. */
export class DiscoveryError extends Error {
  constructor(name: string, what: string, cause?: unknown) {
    super(`plugin "${name}" ${what}`, cause === undefined ? undefined : { cause })
    this.name = 'DiscoveryError'
  }
}

/** A module with plugins: the name in the configuration, and where that is. */
export interface PluginModule {
  readonly name: string
  readonly url: string
}

/** The modules, in the order of the names. `base` is the URL of the file that names them. */
export function resolvePluginModules(names: readonly string[], base: URL): readonly PluginModule[] {
  return names.map(name => {
    try {
      return { name, url: resolveName(name, base) }
    } catch (error) {
      throw new DiscoveryError(name, `is not found from ${base.pathname}: ${(error as Error).message}`, error)
    }
  })
}

function resolveName(name: string, base: URL): string {
  if (name.startsWith('svc/')) return import.meta.resolve(name)
  if (isAbsolute(name)) return pathToFileURL(name).href
  return name.startsWith('.') ? new URL(name, base).href : resolvePackage(name, base)
}

/** Resolves as an `import` in the file `base` would: Node has that for modules on the way of loading only. */
function resolvePackage(name: string, base: URL): string {
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, specifier === name ? { ...context, parentURL: base.href } : context),
  })
  try {
    return import.meta.resolve(name)
  } finally {
    hooks.deregister()
  }
}

/** Imports the modules and returns their plugins, in order. */
export async function loadPlugins(modules: readonly PluginModule[]): Promise<readonly AnyPlugin[]> {
  const plugins: AnyPlugin[] = []
  for (const { name, url } of modules) {
    let exported: unknown
    try {
      exported = (await import(url)).default
    } catch (error) {
      throw new DiscoveryError(name, `does not load: ${(error as Error).message}`, error)
    }
    for (const candidate of Array.isArray(exported) ? exported : [exported]) {
      const problem = problemOf(candidate)
      if (problem !== undefined) throw new DiscoveryError(name, problem)
      plugins.push(candidate)
    }
  }
  return plugins
}

function problemOf(candidate: Partial<AnyPlugin> | undefined): string | undefined {
  if (typeof candidate !== 'object' || candidate === null) {
    return 'exports no plugin: its default export must come from definePlugin, or be a list of such'
  }
  const { name, setup } = candidate
  if (typeof name !== 'string' || !/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
    return `exports a plugin whose name is ${JSON.stringify(name)}: names are kebab-case`
  }
  return typeof setup === 'function' ? undefined : `exports the plugin "${name}" without a setup function`
}
