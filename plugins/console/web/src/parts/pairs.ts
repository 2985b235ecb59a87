/** Names with their values, as a form has them and as a document has them. */
import { problemAt } from '../api/problem.ts'
import { texts } from '../texts/index.ts'

export type Pair = readonly [name: string, value: string]

export const pairsOf = (given: object | undefined): readonly Pair[] =>
  Object.entries((given ?? {}) as Record<string, string>)

/**
 * The pairs as an object, without those that are empty. The server refuses a value without a name; of two values of a name it would get one,
 * so that is refused here, at the path of the pairs in the document.
 */
export function objectOf(pairs: readonly Pair[], path = ''): Record<string, string> {
  // Without a prototype: a name may be `__proto__`.
  const object: Record<string, string> = Object.create(null)
  for (const [given, value] of pairs) {
    const name = given.trim()
    if (name === '' && value === '') continue
    if (Object.hasOwn(object, name)) throw problemAt(`${path}/${name}`, texts.pairs.twice(name))
    object[name] = value
  }
  return object
}

/** What all have to be so that a rule applies: an empty one is refused, for without it the rule would apply to more than was meant. */
export function conditionsOf(pairs: readonly Pair[], path: string): Record<string, string> {
  if (pairs.some(([name]) => name.trim() === '')) throw problemAt(path, texts.pairs.nameless)
  return objectOf(pairs, path)
}
