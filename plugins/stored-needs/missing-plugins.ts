/** Which plugins stored data needs that are not loaded. Where all are loaded, nothing is read. */
import type { MissingPlugin } from './api.ts'
import { describeEvidence, findEvidence, isCostly, type Scan } from './evidence.ts'
import type { NamedNeed } from './named-need.ts'

export interface Question {
  readonly needs: readonly NamedNeed[]
  /** Names of the plugins that are loaded. */
  readonly loaded: ReadonlySet<string>
  /**
   * Ids of costly needs that were looked for in vain, at a start without their plugin. Only that plugin can have made one since, and a start
   * with it takes the id away.
   */
  readonly foundNone: readonly string[]
  readonly scan: Scan
  /** Before a walk over every object. */
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
  // What is cheap comes first: it may make a walk over every object superfluous.
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

/** What an operator reads where the start is refused. */
export function describeRefusal({ name, reasons, consequences }: MissingPlugin): string {
  return (
    `The plugin "${name}" is not loaded, but stored data needs it: ${reasons.join('; ')}. ` +
    `Without it ${consequences.join('; ')}. Load the plugin, or name it in SVC_IGNORE_MISSING_PLUGINS to start without it all the same.`
  )
}

/** What an operator reads where the start goes on. */
export function describeIgnored({ name, reasons, consequences }: MissingPlugin): string {
  return (
    `The server starts without the plugin "${name}", as SVC_IGNORE_MISSING_PLUGINS says, although stored data needs it: ` +
    `${reasons.join('; ')}. So ${consequences.join('; ')}.`
  )
}
