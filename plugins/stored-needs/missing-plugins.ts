/** Finds the plugins that stored data needs and that are not loaded. If all are loaded, it reads nothing. */
import type { MissingPlugin } from './api.ts'
import { describeEvidence, findEvidence, isCostly, type Scan } from './evidence.ts'
import type { NamedNeed } from './named-need.ts'

export interface Question {
  readonly needs: readonly NamedNeed[]
  /** Names of the plugins that are loaded. */
  readonly loaded: ReadonlySet<string>
  /**
   * Ids of costly needs that an earlier start without their plugin searched for and did not find. They are not searched for again: only the
   * plugin can have stored such data since, and a start with the plugin removes the id from the list.
   */
  readonly foundNone: readonly string[]
  readonly scan: Scan
  /** Called before a search that reads the record of every object. */
  readonly onLongSearch?: (need: NamedNeed) => void
}

export interface Finding {
  readonly missing: readonly MissingPlugin[]
  /** For the next start. */
  readonly foundNone: readonly string[]
}

export async function findMissingPlugins(question: Question): Promise<Finding> {
  const { needs, loaded, scan, onLongSearch } = question
  const missing = new Map<string, { name: string; reasons: string[]; consequences: string[] }>()
  const foundNone: string[] = []
  // Cheap searches first: a match makes the costly search for the same plugin unnecessary.
  for (const need of [...needs].sort((a, b) => Number(isCostly(a)) - Number(isCostly(b)))) {
    const { id, plugin, consequence } = need
    if (loaded.has(plugin)) continue
    if (isCostly(need)) {
      if (question.foundNone.includes(id)) {
        foundNone.push(id)
        continue
      }
      if (missing.has(plugin)) continue
      onLongSearch?.(need)
    }
    const evidence = await findEvidence(need, scan)
    if (evidence === undefined) {
      if (isCostly(need)) foundNone.push(id)
      continue
    }
    const entry = missing.get(plugin) ?? { name: plugin, reasons: [], consequences: [] }
    missing.set(plugin, entry)
    entry.reasons.push(describeEvidence(need, evidence))
    entry.consequences.push(consequence)
  }
  return { missing: [...missing.values()], foundNone: foundNone.sort() }
}

/** The message to the operator when the start is refused. */
export function describeRefusal({ name, reasons, consequences }: MissingPlugin): string {
  return (
    `The plugin "${name}" is not loaded, but stored data needs it: ${reasons.join('; ')}. ` +
    `Without it ${consequences.join('; ')}. Load the plugin, or name it in SVC_IGNORE_MISSING_PLUGINS to start without it.`
  )
}

/** The message to the operator when the missing plugin is ignored. */
export function describeIgnored({ name, reasons, consequences }: MissingPlugin): string {
  return (
    `The server starts without the plugin "${name}", as SVC_IGNORE_MISSING_PLUGINS says, although stored data needs it: ` +
    `${reasons.join('; ')}. So ${consequences.join('; ')}.`
  )
}
