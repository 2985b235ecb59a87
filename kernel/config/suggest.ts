/** Suggests the known name that is closest to an unknown one. */
import { createRequire } from 'node:module'

/** `: did you mean …?` for the nearest name that is at most a third of its length away; otherwise nothing. */
export function suggest(name: string, names: Iterable<string>, prefix = ''): string {
  // Loaded for the first such name only: most starts meet none.
  const { distance } = createRequire(import.meta.url)('fastest-levenshtein') as typeof import('fastest-levenshtein')
  let nearest: string | undefined
  let least = Math.floor(name.length / 3) + 1
  for (const candidate of names) {
    const steps = distance(name, candidate)
    if (steps < least) [nearest, least] = [candidate, steps]
  }
  return nearest === undefined ? '' : `: did you mean ${prefix}${nearest}?`
}
