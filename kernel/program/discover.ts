/**
 * From the setting `plugins` to plugins. Names of our own package always mean this very installation, so that there is one
 * kernel; all others are resolved from the place of the configuration file, as if it imported them. Anything that does not
 * resolve, load or look like a plugin stops the start, and so does a name that two modules claim without saying that one
 * replaces the other.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { suggest } from '../config/index.ts'
import type { PluginOrigin } from '../kernel-service.ts'
import type { AnyPlugin } from '../plugin.ts'

/**
 * A text is a package name, a path to a module, or a set of this installation (`svc/plugins/standard`, `svc/contrib`,
 * `svc/contrib/<folder>`). `disable` names plugins that are not to run. `replace` names a plugin that is replaced by the plugin
 * of the same name in the module `with`.
 */
export type PluginEntry =
  | string
  | { readonly disable: readonly string[] }
  | { readonly replace: string; readonly with: string }

/** A module of plugins that cannot be used; the message has the name and the reason. */
export class DiscoveryError extends Error {
  /** The plugin or module as the configuration names it. */
  readonly entry: string

  constructor(entry: string, what: string, cause?: unknown) {
    super(`plugin "${entry}" ${what}`, cause === undefined ? undefined : { cause })
    this.name = 'DiscoveryError'
    this.entry = entry
  }
}

/** A module with plugins: the name in the configuration, and where that is. */
export interface PluginModule {
  readonly name: string
  readonly url: string
  /** Name of the plugin that the module's plugin of the same name replaces. */
  readonly replaces?: string
  /** One of the default set of `contrib/`: left out where a package that it needs is not installed. */
  readonly isContrib?: boolean
}

/** Where plugins that were loaded from modules are from. */
const origins = new WeakMap<AnyPlugin, PluginOrigin>()

/** Plugins without a module were passed to the kernel by a program that embeds it. */
export const originOf = (plugin: AnyPlugin): PluginOrigin => origins.get(plugin) ?? 'external'

/** The plugins to load. Survives structured clone: worker threads load the same. */
export interface PluginSelection {
  readonly modules: readonly PluginModule[]
  /** Names of plugins that are not to run. */
  readonly disabled: readonly string[]
}

/** A plugin with the module that it is from. */
export interface FoundPlugin {
  readonly plugin: AnyPlugin
  readonly module: PluginModule
  readonly state: 'loaded' | 'disabled' | 'replaced'
}

export interface Discovery {
  /** In the order of the modules; a replacement has the place of the replaced one. */
  readonly found: readonly FoundPlugin[]
  /** Modules of the default set of `contrib/` that were left out, each with the package that is not installed. */
  readonly absent: readonly { readonly module: PluginModule; readonly reason: string }[]
}

/** The modules that are loaded if the list names none. */
export const defaultPlugins: readonly string[] = ['svc/plugins/standard', 'svc/contrib']

/** The modules, in the order of the entries, preceded by the default if all entries only change it. `base` is the URL of the file with the entries. */
export function selectPlugins(entries: readonly PluginEntry[], base: URL): PluginSelection {
  const modules: PluginModule[] = []
  const disabled: string[] = []
  const isComplete = entries.some(entry => typeof entry === 'string')
  for (const entry of isComplete ? entries : [...defaultPlugins, ...entries]) {
    if (typeof entry === 'string') modules.push(...resolveModules(entry, base))
    else if ('disable' in entry) disabled.push(...entry.disable)
    else for (const module of resolveModules(entry.with, base)) modules.push({ ...module, replaces: entry.replace })
  }
  return { modules, disabled }
}

function resolveModules(name: string, base: URL): readonly PluginModule[] {
  if (name === 'svc/contrib') return contribModules()
  try {
    return [{ name, url: resolveName(name, base) }]
  } catch (error) {
    throw new DiscoveryError(name, `is not found from ${base.pathname}: ${(error as Error).message}`, error)
  }
}

const contribPrefix = 'svc/contrib/'

function resolveName(name: string, base: URL): string {
  if (name.startsWith(contribPrefix)) {
    const folder = name.slice(contribPrefix.length)
    const known = contribFolders()
    if (!known.includes(folder)) throw new Error(`there is no such folder${suggest(folder, known, contribPrefix)}`)
    return contribUrl(folder)
  }
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

/**
 * The packages of `contrib/` lie beside the kernel. Built ones are part of the package `svc`, as a package.json of their own would
 * deny: it is called manifest.json there.
 */
const isBuilt = !import.meta.url.endsWith('.ts')
const contribRoot = new URL('../../contrib/', import.meta.url)
const manifestUrl = (folder: string) => new URL(`${folder}/${isBuilt ? 'manifest' : 'package'}.json`, contribRoot)
const contribUrl = (folder: string) => new URL(`${folder}/index${isBuilt ? '.js' : '.ts'}`, contribRoot).href

function contribFolders(): readonly string[] {
  if (!existsSync(contribRoot)) return []
  return readdirSync(contribRoot)
    .filter(folder => existsSync(manifestUrl(folder)))
    .sort()
}

interface Manifest {
  readonly svc?: { readonly default?: boolean }
}

/** Packages that are loaded by default, by their manifest. */
function contribModules(): readonly PluginModule[] {
  return contribFolders()
    .filter(folder => (JSON.parse(readFileSync(manifestUrl(folder), 'utf8')) as Manifest).svc?.default === true)
    .map(folder => ({ name: contribPrefix + folder, url: contribUrl(folder), isContrib: true }))
}

/** Imports the modules. Throws DiscoveryError for unusable modules and for conflicting names. */
export async function discoverPlugins({ modules, disabled }: PluginSelection): Promise<Discovery> {
  const firsts = new Map<string, Candidate>()
  const replacements = new Map<string, Candidate>()
  const absent: { module: PluginModule; reason: string }[] = []
  for (const module of modules) {
    const plugins = await loadModule(module)
    if (typeof plugins === 'string') {
      absent.push({ module, reason: plugins })
      continue
    }
    const replacement = plugins.find(({ name }) => name === module.replaces)
    if (replacement !== undefined) {
      if (replacements.has(replacement.name)) throw new DiscoveryError(replacement.name, 'is replaced twice')
      replacements.set(replacement.name, { plugin: replacement, module })
    } else if (module.replaces !== undefined) {
      const names = plugins.map(({ name }) => `"${name}"`).join(', ')
      const what = `exports no plugin "${module.replaces}", which it is to replace: it exports ${names}`
      throw new DiscoveryError(module.name, what)
    }
    for (const plugin of plugins) {
      if (plugin === replacement) continue
      const first = firsts.get(plugin.name)
      if (first !== undefined) throw new DiscoveryError(module.name, describeClash(plugin.name, first.module, module))
      firsts.set(plugin.name, { plugin, module })
    }
  }
  for (const [name, { module }] of replacements) {
    if (disabled.includes(name)) throw new DiscoveryError(name, 'is both disabled and replaced')
    if (firsts.has(name)) continue
    const hint = suggest(name, firsts.keys())
    throw new DiscoveryError(module.name, `is to replace the plugin "${name}", which no other module has${hint}`)
  }
  for (const name of disabled) {
    if (firsts.has(name)) continue
    throw new DiscoveryError(name, `is to be disabled, but is unknown${suggest(name, firsts.keys())}`)
  }
  const found = [...firsts].flatMap(([name, first]): FoundPlugin[] => {
    const replacement = replacements.get(name)
    if (replacement === undefined) return [{ ...first, state: disabled.includes(name) ? 'disabled' : 'loaded' }]
    return [
      { ...first, state: 'replaced' },
      { ...replacement, state: 'loaded' },
    ]
  })
  return { found, absent }
}

type Candidate = Omit<FoundPlugin, 'state'>

function describeClash(plugin: string, first: PluginModule, second: PluginModule): string {
  if (first.url === second.url) return `is named twice, or exports two plugins named "${plugin}"`
  const say = JSON.stringify({ replace: plugin, with: second.name })
  return `exports a plugin named "${plugin}", as "${first.name}" does. To use it instead, write ${say} in its place`
}

/** The plugins that are to run. */
export async function loadPlugins(selection: PluginSelection): Promise<readonly AnyPlugin[]> {
  return loadedOf(await discoverPlugins(selection))
}

export const loadedOf = (discovery: Discovery) => pluginsIn(discovery, 'loaded')

export function pluginsIn({ found }: Discovery, wanted: FoundPlugin['state']): readonly AnyPlugin[] {
  return found.filter(({ state }) => state === wanted).map(({ plugin }) => plugin)
}

/** The plugins of the module; for one of `contrib/` that is left out, the reason. */
async function loadModule({ name, url, isContrib = false }: PluginModule): Promise<readonly AnyPlugin[] | string> {
  let exported: unknown
  try {
    exported = (await import(url)).default
  } catch (error) {
    const reason = missingPackage(error)
    if (isContrib && reason !== undefined) return reason
    // Of this file the operator knows nothing: the configuration imports the module.
    const message = (error as Error).message.replace(` imported from ${import.meta.filename}`, '')
    throw new DiscoveryError(name, `does not load: ${message}`, error)
  }
  const candidates: readonly AnyPlugin[] = Array.isArray(exported) ? exported : [exported]
  for (const candidate of candidates) {
    const problem = problemOf(candidate)
    if (problem !== undefined) throw new DiscoveryError(name, problem)
    origins.set(candidate, originOfModule(name))
  }
  return candidates
}

function originOfModule(name: string): PluginOrigin {
  if (name.startsWith(contribPrefix)) return 'contrib'
  return name.startsWith('svc/') ? 'builtin' : 'external'
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

/** Undefined for other errors: a broken module is not a missing package. */
function missingPackage(error: unknown): string | undefined {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  const [, name] = /^Cannot find package '([^']+)'/.exec(String(message)) ?? []
  return code === 'ERR_MODULE_NOT_FOUND' && name !== undefined ? `the package ${name} is not installed` : undefined
}
