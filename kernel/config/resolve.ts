/**
 * Static configuration: flags, then environment, then the configuration file, then defaults. Nothing is guessed and nothing
 * is ignored: an unknown name is refused with a suggestion, and every problem is reported at once, with name and source.
 */
import { readFileSync } from 'node:fs'
import type { AnyPlugin } from '../plugin.ts'
import { type ConfigurationKey, configurationKeys } from './keys.ts'
import { standInFor } from './stand-ins.ts'
import { booleanTexts, checkValue, convertValue, parseText } from './values.ts'

export interface ConfigurationProblem {
  /** The name as the operator wrote it, or would write it: `--address`, `SVC_ADDRESS`, `address`; or the plugin's. */
  readonly key: string
  /** `flag`, `environment`, the path of the file, `given`, `missing`, or `across keys`. */
  readonly source: string
  readonly message: string
  /** The plugin whose key it is; undefined for names that nobody knows. */
  readonly plugin: string | undefined
}

/** A configuration that cannot be used; the message lists every problem, one per line. */
export class ConfigurationError extends Error {
  readonly problems: readonly ConfigurationProblem[]

  constructor(problems: readonly ConfigurationProblem[]) {
    // A key that several plugins read has its problem once for each of them.
    super([...new Set(problems.map(formatProblem))].join('\n'))
    this.name = 'ConfigurationError'
    this.problems = problems
  }
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

interface Found {
  readonly name: string
  readonly source: string
  /** Text is parsed by the key's type; anything else is taken as it is. */
  readonly text?: string
  readonly value?: unknown
  /** The source is there but could not be read, which has been reported. */
  readonly failed?: boolean
}

type Report = (key: string, source: string, message: string, plugin?: string) => void

/** Variables that Kubernetes makes for a service named `svc`: not ours, and not the operator's fault. */
const SERVICE_LINK = /^SVC_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/

/**
 * Resolves the configuration of these plugins (a plugin here needs no more than name and schema). Throws nothing: what is
 * wrong is in `problems`. `ignoreUnknown` is for the kernel's own first look, before it knows the plugins. With `standIns`
 * something stands for each key that is required and missing: nothing of it must ever run.
 */
export function resolveConfiguration(
  plugins: readonly Pick<AnyPlugin, 'name' | 'config' | 'validate'>[],
  sources: ConfigurationSources,
  { ignoreUnknown = false, standIns = false } = {},
): ResolvedConfiguration {
  const keys = configurationKeys(plugins)
  const problems: ConfigurationProblem[] = []
  const report: Report = (key, source, message, plugin) => problems.push({ key, source, message, plugin })
  const unknown: Report = ignoreUnknown ? () => {} : report

  const fromFlags = readFlags(keys, sources.argv, report, unknown)
  const fromEnvironment = readEnvironment(keys, sources.env, report, unknown)
  const fromFile = readFile(keys, sources.file, report, unknown)
  const given = readGiven(keys, sources.given ?? {}, unknown)

  const sections: Record<string, Record<string, unknown>> = Object.fromEntries(plugins.map(({ name }) => [name, {}]))
  const origins = new Map<ConfigurationKey, string>()
  for (const key of keys) {
    const found = given.get(key) ?? fromFlags.get(key) ?? fromEnvironment.get(key) ?? fromFile.get(key)
    if (found === undefined) {
      const fallback = (key.schema as { default?: unknown }).default
      if (fallback !== undefined) sections[key.plugin][key.property] = convertValue(key, fallback)
      else if (key.required && standIns) sections[key.plugin][key.property] = standInFor(key.schema)
      else if (key.required) reportMissing(key, report)
      continue
    }
    if (found.failed) continue
    origins.set(key, found.source)
    try {
      // The copy is ours to freeze.
      const native = found.text === undefined ? structuredClone(found.value) : undefined
      const value = found.text === undefined ? convertValue(key, native) : parseText(key, found.text)
      for (const message of checkValue(key, value)) report(found.name, found.source, message, key.plugin)
      sections[key.plugin][key.property] = value
    } catch (error) {
      report(found.name, found.source, (error as RangeError).message, key.plugin)
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

function reportMissing(key: ConfigurationKey, report: Report): void {
  const places = [key.secret ? `${key.variable}_FILE` : undefined, key.flag === undefined ? undefined : `--${key.flag}`]
  const others = [...places, key.positional ? 'an argument' : undefined].filter(place => place !== undefined)
  const description = (key.schema as { description?: string }).description ?? ''
  report(
    key.variable,
    'missing',
    `is required${others.length > 0 ? ` (or ${others.join(', ')})` : ''}${description ? `: ${description}` : ''}`,
    key.plugin,
  )
}

function readFlags(keys: readonly ConfigurationKey[], argv: readonly string[], report: Report, unknown: Report) {
  const found = new Map<ConfigurationKey, Found>()
  const byFlag = groupBy(keys, key => key.flag)
  const hidden = new Map(keys.filter(key => key.flag === undefined).map(key => [flagOf(key.variable), key]))
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
    // What follows is the value, unless it is a flag itself: that would hide a forgotten value.
    const next = inline === undefined && !argv[i + 1]?.startsWith('-') ? argv[i + 1] : undefined
    const matching = name.startsWith('--') ? byFlag.get(flag) : undefined
    if (matching === undefined) {
      const key = hidden.get(flag)
      if (key !== undefined) report(name, 'flag', `is not allowed: set ${key.variable} in the environment`, key.plugin)
      else unknown(name, 'flag', `is unknown${suggest(flag, byFlag.keys(), '--')}`)
      // It was probably meant as this flag's value; taken as an argument it would be a second problem.
      if (next !== undefined) i++
      continue
    }
    const [key] = matching
    const isSwitch = key.type === 'boolean' && (next === undefined || !booleanTexts.has(next))
    const text = inline ?? (isSwitch ? 'true' : next)
    if (text === undefined) {
      report(name, 'flag', `needs a value: ${name}=…`, key.plugin)
      continue
    }
    if (inline === undefined && !isSwitch) i++
    const earlier = found.get(key)
    if (earlier !== undefined && key.type !== 'list') report(name, 'flag', 'is given twice', key.plugin)
    const joined = earlier && key.type === 'list' ? `${earlier.text}${key.positional ? ' ' : ','}${text}` : text
    for (const same of matching) found.set(same, { name, source: 'flag', text: joined })
  }
  const takesArguments = keys.filter(key => key.positional)
  if (positionals.length > 0 && takesArguments.length === 0) {
    unknown(positionals[0], 'argument', 'is not expected: no plugin takes arguments')
  }
  for (const key of positionals.length > 0 ? takesArguments : []) {
    found.set(key, { name: 'argument', source: 'command line', value: positionals })
  }
  return found
}

function readEnvironment(
  keys: readonly ConfigurationKey[],
  env: Readonly<Record<string, string | undefined>>,
  report: Report,
  unknown: Report,
) {
  const found = new Map<ConfigurationKey, Found>()
  const byVariable = groupBy(keys, key => key.variable)
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith('SVC_') || name.startsWith('SVC_SECRET_') || SERVICE_LINK.test(name)) continue
    const known = byVariable.has(name) || byVariable.get(name.replace(/_FILE$/, ''))?.[0].secret
    if (!known) unknown(name, 'environment', `is unknown${suggest(name, byVariable.keys(), '')}`)
    // An empty variable counts as unset: that is what container tools pass for a variable without a value.
    if (text === undefined || text === '') continue
    for (const key of byVariable.get(name) ?? []) found.set(key, { name, source: 'environment', text })
  }
  for (const key of keys) {
    const name = `${key.variable}_FILE`
    const path = key.secret ? env[name] : undefined
    if (path === undefined || path === '') continue
    try {
      found.set(key, { name, source: path, text: readFileSync(path, 'utf8').replace(/\r?\n$/, '') })
    } catch (error) {
      report(name, 'environment', `cannot be read: ${(error as Error).message}`, key.plugin)
      // The key has its problem: that it is also missing would be noise.
      found.set(key, { name, source: path, failed: true })
    }
  }
  return found
}

function readFile(
  keys: readonly ConfigurationKey[],
  file: ConfigurationSources['file'],
  report: Report,
  unknown: Report,
) {
  const found = new Map<ConfigurationKey, Found>()
  if (file === undefined) return found
  const byFileKey = groupBy(keys, key => key.fileKey)
  const refused = new Map(
    keys.filter(key => key.fileKey === undefined).map(key => [camelCase(flagOf(key.variable)), key]),
  )
  const sections = new Set(keys.map(key => key.plugin))
  const visit = (content: Readonly<Record<string, unknown>>, prefix: string): void => {
    for (const [name, value] of Object.entries(content)) {
      const fileKey = prefix + name
      const key =
        refused.get(fileKey) ?? keys.find(other => !other.fileKey && `${other.plugin}.${other.property}` === fileKey)
      if (byFileKey.has(fileKey)) {
        for (const same of byFileKey.get(fileKey)!) found.set(same, { name: fileKey, source: file.path, value })
      } else if (key !== undefined) {
        report(fileKey, file.path, `is not allowed in the file: set ${key.variable} in the environment`, key.plugin)
      } else if (prefix === '' && sections.has(name) && isPlainObject(value)) visit(value, `${name}.`)
      else unknown(fileKey, file.path, `is unknown${suggest(fileKey, byFileKey.keys(), '')}`)
    }
  }
  visit(file.content, '')
  return found
}

function readGiven(
  keys: readonly ConfigurationKey[],
  given: NonNullable<ConfigurationSources['given']>,
  unknown: Report,
) {
  const found = new Map<ConfigurationKey, Found>()
  const byPath = new Map(keys.map(key => [`${key.plugin}.${key.property}`, key]))
  for (const [plugin, section] of Object.entries(given)) {
    for (const [property, value] of Object.entries(section)) {
      const name = `${plugin}.${property}`
      const key = byPath.get(name)
      if (key !== undefined) found.set(key, { name, source: 'given', value })
      else unknown(name, 'given', `is unknown${suggest(name, byPath.keys(), '')}`)
    }
  }
  // Keys of several plugins with one variable are one setting: who gives it once means all of them.
  const byVariable = new Map([...found].map(([key, value]) => [key.variable, value]))
  for (const key of keys) {
    const shared = found.has(key) ? undefined : byVariable.get(key.variable)
    if (shared !== undefined) found.set(key, shared)
  }
  return found
}

function flagOf(variable: string): string {
  return variable.slice('SVC_'.length).replaceAll('_', '-').toLowerCase()
}

function camelCase(flag: string): string {
  return flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}

function groupBy<T>(items: readonly T[], nameOf: (item: T) => string | undefined): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const name = nameOf(item)
    if (name === undefined) continue
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [item])
    else group.push(item)
  }
  return groups
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}

/** ` – did you mean "…"?` for the nearest name that is at most a third of its length away; otherwise nothing. */
export function suggest(name: string, names: Iterable<string>, prefix: string): string {
  let nearest: string | undefined
  let least = Math.floor(name.length / 3) + 1
  for (const candidate of names) {
    const distance = editDistance(name, candidate)
    if (distance < least) [nearest, least] = [candidate, distance]
  }
  return nearest === undefined ? '' : `: did you mean ${prefix}${nearest}?`
}

/** Levenshtein's distance: insertions, deletions and replacements of one character. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, replace))
    }
    row = next
  }
  return row[b.length]
}
