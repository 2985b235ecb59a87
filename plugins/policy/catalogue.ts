/** The actions at run time: the table and what plugins add, found by name and expanded from wildcards. */
import {
  type ActionLevel,
  type ActionRow,
  type ActionStatus,
  actionAliases,
  actionTable,
  inertActions,
  inertServices,
} from './actions.ts'
import { conditionKeysOf } from './condition-keys.ts'
import { plainPattern } from './wildcards.ts'

export interface PolicyAction extends ActionRow {
  readonly conditionKeys: readonly string[]
  /** The plugin that registered it; `policy` for the table's own. */
  readonly plugin: string
}

/** What a plugin contributes to `policy.action`, under the action's name (`admin:ManageTrash`). */
export interface ActionDeclaration {
  readonly level: ActionLevel
  readonly description: string
  readonly isBucketScoped?: boolean
  /** Default: active. */
  readonly status?: ActionStatus
}

/** An action as the engine knows it. */
export interface ActionEntry {
  /** Lower case. */
  readonly name: string
  readonly action: PolicyAction
  /** Place in the catalogue: statements are indexed by it. */
  readonly index: number
  readonly isS3: boolean
}

export interface Catalogue {
  readonly actions: readonly PolicyAction[]
  /** The entry of an action or of an alias, whatever its case. */
  find(action: string): ActionEntry | undefined
  /** Every entry that a lower-case name with wildcards means; aliases count. */
  expand(pattern: string): ReadonlySet<ActionEntry>
  /** Whether a lower-case name, with wildcards or not, is accepted though it governs nothing. */
  isInert(action: string): boolean
}

const nameForm = /^[a-z][a-z0-9-]*:[A-Za-z][A-Za-z0-9]*$/

/** Throws for a name that is taken or malformed: a defect of the plugin that contributes it. */
export function createCatalogue(
  contributions: readonly { readonly id: string; readonly plugin: string; readonly value: ActionDeclaration }[] = [],
): Catalogue {
  const actions: PolicyAction[] = actionTable.map(row => ({
    ...row,
    conditionKeys: conditionKeysOf(row.action),
    plugin: 'policy',
  }))
  for (const { id, plugin, value } of contributions) {
    if (!nameForm.test(id)) throw new Error(`"${plugin}" contributes the action "${id}", which is no name of an action`)
    actions.push({
      action: id,
      level: value.level,
      status: value.status ?? 'active',
      description: value.description,
      isBucketScoped: value.isBucketScoped ?? false,
      conditionKeys: conditionKeysOf(id),
      plugin,
    })
  }
  // By every spelling that is in use, so that a request's own one is found without changing its case.
  const byName = new Map<string, ActionEntry>()
  const entries: ActionEntry[] = []
  for (const [index, action] of actions.entries()) {
    const name = action.action.toLowerCase()
    if (byName.has(name)) throw new Error(`the action "${action.action}" is contributed twice`)
    const entry: ActionEntry = { name, action, index, isS3: name.startsWith('s3:') }
    entries.push(entry)
    byName.set(name, entry)
    byName.set(action.action, entry)
  }
  for (const [alias, target] of actionAliases) byName.set(alias, byName.get(target)!)
  const inert = inertActions.map(pattern => ({ text: pattern, pattern: plainPattern(pattern) }))

  return Object.freeze({
    actions: Object.freeze(actions),
    find: (action: string) => byName.get(action) ?? byName.get(action.toLowerCase()),
    expand(text: string) {
      const pattern = plainPattern(text)
      const found = new Set<ActionEntry>()
      for (const [name, entry] of byName) if (pattern.matches(name)) found.add(entry)
      return found
    },
    isInert(action: string) {
      if (inertServices.has(action.slice(0, action.indexOf(':')))) return true
      const pattern = plainPattern(action)
      return inert.some(known => known.pattern.matches(action) || pattern.matches(known.text))
    },
  })
}

export { actionTable }
