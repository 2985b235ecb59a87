/** What the setting `plugins` may hold. */

/**
 * A text is a package name, a path to a module, or a set of this installation (`svc/plugins/standard`, `svc/contrib`,
 * `svc/contrib/<folder>`). `disable` names plugins that are not to run. `replace` names a plugin whose place is taken by the plugin
 * of the same name in the module `with`.
 */
export type PluginEntry =
  | string
  | { readonly disable: readonly string[] }
  | { readonly replace: string; readonly with: string }

/** What is loaded where the list names nothing itself. */
export const defaultPlugins: readonly string[] = ['svc/plugins/standard', 'svc/contrib']

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const hasKeys = (value: unknown, ...keys: readonly string[]): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && String(Object.keys(value).sort()) === String(keys.toSorted())

function isEntry(value: unknown): value is PluginEntry {
  if (hasKeys(value, 'disable')) return Array.isArray(value.disable) && value.disable.every(isText)
  return isText(value) || (hasKeys(value, 'replace', 'with') && isText(value.replace) && isText(value.with))
}

/** What is wrong with a list of entries: a sentence without subject. */
export function checkEntries(entries: readonly unknown[]): string | undefined {
  const index = entries.findIndex(entry => !isEntry(entry))
  if (index === -1) return undefined
  return `entry ${index} must be a package name, a path, {"disable": ["name", …]} or {"replace": "name", "with": "path"}`
}

/** The entries, preceded by the default where all of them only change it. */
export function completeEntries(entries: readonly PluginEntry[]): readonly PluginEntry[] {
  return entries.some(entry => typeof entry === 'string') ? entries : [...defaultPlugins, ...entries]
}
