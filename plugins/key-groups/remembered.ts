/**
 * Valid signatures, so that the same URL is not verified again for each range of a film. Only valid ones are remembered:
 * a client with invalid signatures takes no place from others. It saves arithmetic, never a decision: times, addresses and
 * resources are looked at each time, and keys as they then are.
 */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** An entry is the base64 of a SHA-256, 44 characters: about 1.5 MB in all, in each thread. */
export const rememberedMax = 10_000

export interface RememberedSignatures {
  /**
   * The key under which it is remembered that a signature of this text holds. No fact has a line break in it, so that two lists of facts
   * and texts never have the same.
   */
  keyOf(facts: readonly (string | number)[], text: string): string
  has(key: string): boolean
  add(key: string): void
  readonly size: number
}

export function createRemembered(max = rememberedMax): RememberedSignatures {
  const found = new LRUCache<string, true>({ max })
  return {
    keyOf: (facts, text) => hash('sha256', `${facts.length}\n${facts.join('\n')}\n${text}`, 'base64'),
    has: key => found.get(key) === true,
    add: key => {
      found.set(key, true)
    },
    get size() {
      return found.size
    },
  }
}
