/** Where something of a JSON document stands in its text. */
import { jsonLanguage } from '@codemirror/lang-json'

/** Counted from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** The place of a member by its names from the root; of the innermost that is there, where it is not. */
export function placeOf(text: string, path: readonly string[]): Place {
  let node = jsonLanguage.parser.parse(text).topNode.getChild('Object')
  let at = node?.from ?? 0
  for (const name of path) {
    const member = node?.getChildren('Property').find(property => nameOf(text, property) === name)
    if (member === undefined) break
    at = member.from
    node = member.getChild('Object')
  }
  return placeAt(text, at)
}

type Property = ReturnType<NonNullable<ReturnType<typeof jsonLanguage.parser.parse>['topNode']['getChild']>>

function nameOf(text: string, property: NonNullable<Property>): string | undefined {
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
