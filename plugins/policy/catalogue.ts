/** The actions at run time: those of the table and those of plugins, found by name or by pattern. */
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
  /** The plugin that contributes it; `policy` for actions of the table. */
  readonly plugin: string
}

/** An action that a plugin contributes to `policy.action`, under its name (`admin:ManageTrash`). */
export interface ActionDeclaration {
  readonly level: ActionLevel
  readonly description: string
  readonly isBucketScoped?: boolean
  /** Default: active. */
  readonly status?: ActionStatus
}

/** An action with its place in the catalogue. */
export interface ActionEntry {
  /** Lower case. */
  readonly name: string
  readonly action: PolicyAction
  /** Place in the catalogue, by which statements are indexed. */
  readonly index: number
  readonly isS3: boolean
}

export interface Catalogue {
  readonly actions: readonly PolicyAction[]
  /** The entry of an action or an alias, in any case. */
  find(action: string): ActionEntry | undefined
  /** All entries that a lower-case name with wildcards matches, by their aliases, too. */
  expand(pattern: string): ReadonlySet<ActionEntry>
  /** Whether a lower-case name, with or without wildcards, is accepted although it has no effect here. */
  isInert(action: string): boolean
}

const nameForm = /^[a-z][a-z0-9-]*:[A-Za-z][A-Za-z0-9]*$/

/** Throws for a name that is taken or malformed, which is a defect of the contributing plugin. */
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
      isOfServerToo: false,
      conditionKeys: conditionKeysOf(id),
      plugin,
    })
  }
  // By all usual spellings, so that the spelling of a request is found without a change of case.
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
