/**
 * Results of comparisons that take long, with the text that was compared last: a request for a thousand keys, or for all actions that a caller may
 * do, compares the same header a thousand times.
 */
import { LRUCache } from 'lru-cache'

interface Result {
  readonly text: string
  readonly matches: boolean
}

/** Each holds at most one text of `patternTextMax` characters. */
const rememberedMax = 1024
/** Cost times length from which on to remember is cheaper. */
const workMin = 4096

const results = new LRUCache<object, Result>({ max: rememberedMax })

export const isWorthRemembering = (cost: number, text: string): boolean => cost * text.length >= workMin

/** `compare` depends on nothing but the owner and the text. */
export function remembered(owner: object, text: string, compare: () => boolean): boolean {
  const last = results.get(owner)
  if (last?.text === text) return last.matches
  const matches = compare()
  results.set(owner, { text, matches })
  return matches
}
