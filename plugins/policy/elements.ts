/** Functions that read the elements of a statement: text, lists of text, and objects with known names. */
import type { JsonNode, JsonObject } from './json-reader.ts'
import { type Problems, quote } from './problems.ts'

export interface PlacedText {
  readonly text: string
  readonly at: number
}

const kinds: Readonly<Record<JsonNode['kind'], string>> = {
  object: 'an object',
  list: 'a list',
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  null: 'null',
}

export function kindOf(node: JsonNode): string {
  return kinds[node.kind]
}

/** The string; undefined after reporting another type. */
export function readText(node: JsonNode, element: string, problems: Problems): string | undefined {
  if (node.kind === 'string') return node.value
  problems.error(node.at, element, `${element} is a string, not ${kindOf(node)}.`)
  return undefined
}

/** A string or a non-empty list of strings. Other items are reported and left out. */
export function readTexts(node: JsonNode, element: string, problems: Problems): PlacedText[] {
  if (node.kind === 'string') return [{ text: node.value, at: node.at }]
  if (node.kind !== 'list') {
    problems.error(node.at, element, `${element} is a string or a list of strings, not ${kindOf(node)}.`)
    return []
  }
  if (node.items.length === 0) problems.error(node.at, element, `${element} is an empty list.`)
  const texts: PlacedText[] = []
  for (const item of node.items) {
    if (item.kind === 'string') texts.push({ text: item.value, at: item.at })
    else problems.error(item.at, element, `${element} holds ${kindOf(item)}; only strings are allowed.`)
  }
  return texts
}

/** The members by name. Unknown names are reported, with the allowed name that is most similar. */
export function readMembers<Name extends string>(
  node: JsonObject,
  names: readonly Name[],
  what: string,
  problems: Problems,
): ReadonlyMap<Name, JsonNode> {
  const members = new Map<Name, JsonNode>()
  for (const { key, at, value } of node.members) {
    const name = names.find(known => known === key)
    if (name !== undefined) {
      if (!members.has(name)) members.set(name, value)
      continue
    }
    const meant = names.find(known => known.toLowerCase() === key.toLowerCase())
    const hint = meant === undefined ? `It has ${names.join(', ')}.` : `Write "${meant}".`
    problems.error(at, key.slice(0, 80), `${what} has no element ${quote(key)}. ${hint}`)
  }
  return members
}
