/** Where something of a JSON document stands in its text. */
import { jsonLanguage } from '@codemirror/lang-json'
import { texts } from '../texts/index.ts'

/** Counted from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** The place of a member by its names, or numbers in a list, from the root; of the innermost that is there, where it is not. */
export function placeOf(text: string, path: readonly string[]): Place {
  const top = jsonLanguage.parser.parse(text).topNode
  let node = top.getChild('Object') ?? top.getChild('Array')
  let at = node?.from ?? 0
  for (const name of path) {
    const member: Node | undefined =
      node?.name === 'Array'
        ? elementsOf(node)[Number(name)]
        : node?.getChildren('Property').find(property => nameOf(text, property) === name)
    if (member === undefined) break
    at = member.from
    node = member.name === 'Property' ? (member.getChild('Object') ?? member.getChild('Array')) : member
  }
  return placeAt(text, at)
}

type Node = ReturnType<typeof jsonLanguage.parser.parse>['topNode']

const elementsOf = (list: Node): readonly Node[] =>
  ['Object', 'Array', 'String', 'Number', 'True', 'False', 'Null']
    .flatMap(type => list.getChildren(type))
    .sort((one, other) => one.from - other.from)

function nameOf(text: string, property: Node): string | undefined {
  const name = property.getChild('PropertyName')
  try {
    return name === null ? undefined : JSON.parse(text.slice(name.from, name.to))
  } catch {
    return undefined
  }
}

function placeAt(text: string, at: number): Place {
  const before = text.slice(0, at).split('\n')
  return { line: before.length, column: before.at(-1)!.length + 1 }
}

/** What the browser itself finds wrong with a text. */
export class JsonMistake extends Error {
  readonly place: Place

  constructor(message: string, place: Place) {
    super(message)
    this.place = place
  }
}

/** Throws `JsonMistake`, also where an object has a name twice: only the last of its values would be sent, and nobody would see that. */
export function readJson(text: string): unknown {
  try {
    const value = JSON.parse(text)
    requireNamesOnce(text)
    return value
  } catch (error) {
    if (error instanceof JsonMistake) throw error
    throw new JsonMistake(texts.common.notJson((error as Error).message), placeOfSyntaxError(text))
  }
}

function requireNamesOnce(text: string): void {
  jsonLanguage.parser.parse(text).iterate({
    enter({ name: type, node }) {
      if (type !== 'Object') return
      const names = new Set<string>()
      for (const property of node.getChildren('Property')) {
        const name = nameOf(text, property) ?? ''
        if (names.has(name)) throw new JsonMistake(texts.pairs.twice(name), placeAt(text, property.from))
        names.add(name)
      }
    },
  })
}

/** Where a text stops to be JSON: browsers say it in words of their own. */
function placeOfSyntaxError(text: string): Place {
  let at = text.length
  jsonLanguage.parser.parse(text).iterate({
    enter({ type, from }) {
      if (type.isError) at = Math.min(at, from)
    },
  })
  return placeAt(text, at)
}
