/** `Action` and `NotAction`: the actions that a statement applies to. */
import type { ActionEntry, Catalogue } from './catalogue.ts'
import { type PlacedText, readTexts } from './elements.ts'
import type { JsonNode } from './json-reader.ts'
import { type Problems, quote } from './problems.ts'
import { plainPattern, type WildcardPattern } from './wildcards.ts'

/** One entry of the list. */
export interface NamedActions {
  readonly at: number
  readonly text: string
  /** The actions of this server that the entry names; empty for accepted names without an effect here. */
  readonly entries: ReadonlySet<ActionEntry>
}

export class ActionSet {
  readonly isNegated: boolean
  readonly named: readonly NamedActions[]
  readonly #names = new Set<string>()
  readonly #patterns: WildcardPattern[] = []

  constructor(named: readonly NamedActions[], isNegated: boolean) {
    this.named = named
    this.isNegated = isNegated
    for (const { text, entries } of named) {
      for (const { name } of entries) this.#names.add(name)
      if (text.includes('*') || text.includes('?')) this.#patterns.push(plainPattern(text.toLowerCase()))
    }
  }

  has(entry: ActionEntry): boolean {
    return this.#names.has(entry.name) !== this.isNegated
  }

  /** For an action that is not in the catalogue: only an entry with wildcards can match it. */
  hasUnknown(action: string): boolean {
    const lowerCase = action.toLowerCase()
    return this.#patterns.some(pattern => pattern.matches(lowerCase)) !== this.isNegated
  }
}

const form = /^[a-zA-Z][a-zA-Z0-9-]{0,63}:[a-zA-Z0-9*?]{1,128}$/

export function readActions(
  node: JsonNode,
  element: 'Action' | 'NotAction',
  catalogue: Catalogue,
  problems: Problems,
): ActionSet {
  const named = readTexts(node, element, problems).map(placed => readAction(placed, element, catalogue, problems))
  return new ActionSet(named, element === 'NotAction')
}

function readAction({ text, at }: PlacedText, element: string, catalogue: Catalogue, problems: Problems): NamedActions {
  if (text === '*') return { at, text, entries: catalogue.expand('*') }
  const nothing = { at, text, entries: new Set<ActionEntry>() }
  const lowerCase = text.toLowerCase()
  if (!form.test(text)) {
    const why = /^[^:]*[*?]/.test(text)
      ? 'wildcards may stand after the colon only, or "*" alone.'
      : 'write service:Name, such as s3:GetObject.'
    problems.error(at, element, `${quote(text)} is no action: ${why}`)
    return nothing
  }
  const isWild = text.includes('*') || text.includes('?')
  const found = isWild ? undefined : catalogue.find(text)
  const entries = found !== undefined ? new Set([found]) : isWild ? catalogue.expand(lowerCase) : nothing.entries
  if (entries.size > 0) return { at, text, entries }
  if (catalogue.isInert(lowerCase)) problems.warn(at, element, `${quote(text)} is accepted, but has no effect here.`)
  else
    problems.error(
      at,
      element,
      `${quote(text)} ${isWild ? 'means no action that exists' : 'is no action that exists'}.`,
    )
  return nothing
}
