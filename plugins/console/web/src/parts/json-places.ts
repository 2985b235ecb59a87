/** Where something of a JSON document stands in its text. */
import { jsonLanguage } from '@codemirror/lang-json'

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

/** Where a text stops to be JSON: browsers say it in words of their own. */
export function placeOfSyntaxError(text: string): Place {
  let at = text.length
  jsonLanguage.parser.parse(text).iterate({
    enter({ type, from }) {
      if (type.isError) at = Math.min(at, from)
    },
  })
  return placeAt(text, at)
}
