/**
 * Static configuration: flags, then environment, then the configuration file, then defaults. Nothing is guessed and nothing
 * is ignored: an unknown name is refused with a suggestion, and every problem is reported at once, with name and source.
 */
import { readFileSync } from 'node:fs'
import type { AnyPlugin } from '../plugin.ts'
import { type ConfigurationKey, camelCase, configurationKeys, flagOf } from './keys.ts'
import { standInFor } from './stand-ins.ts'
import { suggest } from './suggest.ts'
import { booleanTexts, checkValue, convertValue, parseText } from './values.ts'

export interface ConfigurationProblem {
  /** The name as the operator wrote it, or would write it: `--address`, `SVC_ADDRESS`, `address`; or the plugin's. */
  readonly key: string
  /** `flag`, `environment`, the path of the file, `given`, `missing`, or `across keys`. */
  readonly source: string
  readonly message: string
  /** The plugin of the key; undefined for unknown names. */
  readonly plugin: string | undefined
}

/** A configuration that cannot be used; the message lists every problem, one per line. */
export class ConfigurationError extends Error {
  readonly problems: readonly ConfigurationProblem[]

  constructor(problems: readonly ConfigurationProblem[]) {
    super(formatProblems(problems).join('\n'))
    this.name = 'ConfigurationError'
    this.problems = problems
  }
}

/** One line per problem; a problem of a key that several plugins read is shown once for each of them. */
export function formatProblems(problems: readonly ConfigurationProblem[]): readonly string[] {
  return [...new Set(problems.map(formatProblem))]
}

export function formatProblem({ key, source, message }: ConfigurationProblem): string {
  if (source === 'across keys') return `${key}: ${message}`
  return source === 'missing' ? `${key} ${message}` : `${key} (${source}) ${message}`
}

/** Where values come from. Reading secrets from `_FILE` is the only I/O that resolving does. */
export interface ConfigurationSources {
  /** Flags and arguments of the command line, without the command. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly file?: { readonly path: string; readonly content: Readonly<Record<string, unknown>> }
  /** Native values by plugin and property, above every other source and allowed to hold secrets: for tests. */
  readonly given?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export interface ResolvedConfiguration {
  /** Each plugin's section, deeply frozen. A plugin with problems is missing. */
  readonly sections: Readonly<Record<string, unknown>>
  readonly problems: readonly ConfigurationProblem[]
  /** Where each value that is not a default came from, for the summary of a dry run. */
  readonly origins: ReadonlyMap<ConfigurationKey, string>
}

/** The entry of a key in one source. */
interface Entry {
  /** The name as the operator wrote it. */
  readonly name: string
  readonly source: string
  /** Text is parsed by the key's type; other values are taken unchanged. */
  readonly text?: string
  readonly value?: unknown
  /** The source is there but could not be read, which has been reported. */
  readonly failed?: boolean
}

type Report = (key: string, source: string, message: string, plugin?: string) => void

/** Variables that Kubernetes makes for a service named `svc`: not ours, and not the operator's fault. */
const SERVICE_LINK = /^SVC_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/

/**
 * Resolves the configuration of these plugins (a plugin here needs no more than name and schema). Throws nothing:
 * errors are in `problems`. `ignoreUnknown` is for the kernel's own first look, before it knows the plugins. With `standIns`
 * a placeholder replaces each missing required key: such a configuration must never run.
 */
export function resolveConfiguration(
  plugins: readonly Pick<AnyPlugin, 'name' | 'config' | 'validate'>[],
  sources: ConfigurationSources,
  { ignoreUnknown = false, standIns = false } = {},
): ResolvedConfiguration {
  const keys = configurationKeys(plugins)
  const problems: ConfigurationProblem[] = []
  const report: Report = (key, source, message, plugin) => problems.push({ key, source, message, plugin })
  const entries = readSources(keys, sources, report, ignoreUnknown)

  const sections: Record<string, Record<string, unknown>> = Object.fromEntries(plugins.map(({ name }) => [name, {}]))
  const origins = new Map<ConfigurationKey, string>()
  for (const key of keys) {
    const section = sections[key.plugin]
    const entry = entries.get(key)
    if (entry === undefined) {
      const fallback = (key.schema as { default?: unknown }).default
      if (fallback !== undefined) section[key.property] = convertValue(key, fallback)
      else if (key.required && standIns) section[key.property] = standInFor(key.schema)
      else if (key.required) report(key.variable, 'missing', whatIsMissing(key), key.plugin)
      continue
    }
    if (entry.failed) continue
    origins.set(key, entry.source)
    try {
      // The copy is ours to freeze.
      const { text, value: native } = entry
      const value = text === undefined ? convertValue(key, structuredClone(native)) : parseText(key, text)
      for (const message of checkValue(key, value)) report(entry.name, entry.source, message, key.plugin)
      section[key.property] = value
    } catch (error) {
      report(entry.name, entry.source, (error as RangeError).message, key.plugin)
    }
  }
  const failed = () => new Set(problems.map(problem => problem.plugin))
  const broken = failed()
  for (const plugin of plugins) {
    if (broken.has(plugin.name)) continue
    // Checks across keys see only values that hold by themselves.
    for (const message of plugin.validate?.(sections[plugin.name]) ?? []) {
      report(plugin.name, 'across keys', message, plugin.name)
    }
  }
  for (const name of failed()) if (name !== undefined) delete sections[name]
  return { sections: deepFreeze(sections), problems, origins }
}

function whatIsMissing({ secret, variable, flag, positional, schema }: ConfigurationKey): string {
  const { description } = schema as { description?: string }
  const others = [secret && `${variable}_FILE`, flag !== undefined && `--${flag}`, positional && 'an argument']
  const places = others.filter(place => place !== false).join(', ')
  return `is required${places && ` (or ${places})`}${description ? `: ${description}` : ''}`
}

/** How a source names keys. */
interface Names {
  readonly known: ReadonlyMap<string, readonly ConfigurationKey[]>
  /** Keys that the source must not have, with the message. */
  readonly refused?: ReadonlyMap<string, ConfigurationKey>
  readonly refusal?: string
  /** Prefix of a suggestion. */
  readonly prefix?: string
}

/** The entry of highest precedence for each key. Reports unknown names, and keys that a source must not have. */
function readSources(
  keys: readonly ConfigurationKey[],
  { argv, env, file, given = {} }: ConfigurationSources,
  report: Report,
  ignoreUnknown: boolean,
): ReadonlyMap<ConfigurationKey, Entry> {
  const entries = new Map<ConfigurationKey, Entry>()
  const named = (nameOf: (key: ConfigurationKey) => string | undefined) =>
    Map.groupBy(
      keys.filter(key => nameOf(key) !== undefined),
      key => nameOf(key)!,
    )
  const byVariable = named(({ variable }) => variable)

  const keysOf = (names: Names, source: string, name: string, shown = name): readonly ConfigurationKey[] => {
    const known = names.known.get(name)
    const refused = known === undefined ? names.refused?.get(name) : undefined
    if (refused) report(shown, source, `${names.refusal}: set ${refused.variable} in the environment`, refused.plugin)
    else if (!known && !ignoreUnknown)
      report(shown, source, `is unknown${suggest(name, names.known.keys(), names.prefix)}`)
    return known ?? []
  }

  const hidden = keys.filter(({ flag }) => flag === undefined)
  const flags = {
    known: named(({ flag }) => flag),
    refused: new Map(hidden.map(key => [flagOf(key.variable), key])),
    refusal: 'is not allowed',
    prefix: '--',
  }
  const positionals: string[] = []
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i]
    if (argument === '--') {
      positionals.push(...argv.slice(i + 1))
      break
    }
    if (!argument.startsWith('-') || argument === '-') {
      positionals.push(argument)
      continue
    }
    const [, name, flag, inline] = /^(--?([^=]*))(?:=(.*))?$/s.exec(argument) as RegExpExecArray
    const matching = keysOf(flags, 'flag', name.startsWith('--') ? flag : name, name)
    const key: ConfigurationKey | undefined = matching[0]
    // The next argument is the value, unless it is a flag itself: that would hide a forgotten value. After an unknown flag it was probably
    // meant as the value, too; taken as an argument it would be a second problem.
    const next = inline === undefined && !argv[i + 1]?.startsWith('-') ? argv[i + 1] : undefined
    const isSwitch = key?.type === 'boolean' && (next === undefined || !booleanTexts.has(next))
    if (next !== undefined && !isSwitch) i++
    if (key === undefined) continue
    const text = inline ?? (isSwitch ? 'true' : next)
    if (text === undefined) {
      report(name, 'flag', `needs a value: ${name}=…`, key.plugin)
      continue
    }
    const earlier = entries.get(key)
    if (earlier !== undefined && key.type !== 'list') report(name, 'flag', 'is given twice', key.plugin)
    const joined = earlier && key.type === 'list' ? `${earlier.text}${key.positional ? ' ' : ','}${text}` : text
    for (const same of matching) entries.set(same, { name, source: 'flag', text: joined })
  }
  if (positionals.length > 0) {
    const takesArguments = keys.filter(key => key.positional)
    const entry = { name: 'argument', source: 'command line', value: positionals }
    for (const key of takesArguments) entries.set(key, entry)
    if (takesArguments.length === 0 && !ignoreUnknown) {
      report(positionals[0], 'argument', 'is not expected: no plugin takes arguments')
    }
  }

  /** Adds an entry of a source that is weaker than those before. */
  const add = (key: ConfigurationKey, entry: Entry) => {
    if (!entries.has(key)) entries.set(key, entry)
  }
  const secrets = [...byVariable].filter(([, [key]]) => key.secret)
  const variables = {
    known: new Map([...byVariable, ...secrets.map(([name, same]) => [`${name}_FILE`, same] as const)]),
  }
  for (const [name, text] of Object.entries(env)) {
    // Variables that other programs read too, as OTEL_…, are only read for known keys, and are never reported as mistyped.
    const isOurs = name.startsWith('SVC_') && !name.startsWith('SVC_SECRET_') && !SERVICE_LINK.test(name)
    if (!isOurs && !variables.known.has(name)) continue
    for (const key of keysOf(variables, 'environment', name)) {
      // An empty variable counts as unset, because container tools pass one for a variable without a value.
      if (text === undefined || text === '') continue
      if (name === key.variable) add(key, { name, source: 'environment', text })
      else entries.set(key, readSecret(key, name, text, report))
    }
  }

  const sections = new Set(keys.map(({ plugin }) => plugin))
  const outside = keys.filter(({ fileKey }) => fileKey === undefined)
  const fileKeys = {
    known: named(({ fileKey }) => fileKey),
    refused: new Map(
      outside.flatMap(key => [
        [camelCase(flagOf(key.variable)), key],
        [`${key.plugin}.${key.property}`, key],
      ]),
    ),
    refusal: 'is not allowed in the file',
  }
  const visit = (path: string, content: Readonly<Record<string, unknown>>, prefix: string): void => {
    for (const [name, value] of Object.entries(content)) {
      const isSection = prefix === '' && sections.has(name) && !fileKeys.known.has(name) && isPlainObject(value)
      if (isSection) visit(path, value, `${name}.`)
      else
        for (const key of keysOf(fileKeys, path, prefix + name)) add(key, { name: prefix + name, source: path, value })
    }
  }
  if (file !== undefined) visit(file.path, file.content, '')

  const properties = { known: named(({ plugin, property }) => `${plugin}.${property}`) }
  const own = new Map<ConfigurationKey, Entry>()
  for (const [plugin, section] of Object.entries(given)) {
    for (const [property, value] of Object.entries(section)) {
      const name = `${plugin}.${property}`
      for (const key of keysOf(properties, 'given', name)) own.set(key, { name, source: 'given', value })
    }
  }
  // Keys of several plugins with one variable are one setting: a value applies to all of them.
  for (const [{ variable }, entry] of own) {
    for (const key of byVariable.get(variable)!) entries.set(key, own.get(key) ?? entry)
  }
  return entries
}

function readSecret(key: ConfigurationKey, name: string, path: string, report: Report): Entry {
  try {
    return { name, source: path, text: readFileSync(path, 'utf8').replace(/\r?\n$/, '') }
  } catch (error) {
    report(name, 'environment', `cannot be read: ${(error as Error).message}`, key.plugin)
    // The key has its problem: that it is also missing would be noise.
    return { name, source: path, failed: true }
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}
