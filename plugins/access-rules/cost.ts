/**
 * Estimates the cost of a bucket's rules for the worst request when they are stored, so that no request takes more than some milliseconds.
 * One unit is about 4 µs for a key of `textCharsMax` characters: with `costMax` the worst key and headers take about 5 ms.
 */
import type { CompiledRule } from './compiled-rule.ts'
import type { RegexList } from './matching.ts'
import { widthOf } from './regexes.ts'

export const costMax = 1280

/** Of each state that an expression can be in at once, of 32 characters of a glob, and of a pattern for a header, which is longer. */
const stateCost = 5
const globWordCost = 2
const headerWordCost = 8

export interface Cost {
  readonly regexes: number
  readonly globs: number
  readonly headers: number
  readonly total: number
}

export function costOf(rules: readonly CompiledRule[], { regexes, compiled }: RegexList): Cost {
  // Groups are looked for in a second pass.
  const passes = compiled.map(
    one => 1 + rules.filter(({ captures, pattern }) => captures !== undefined && pattern.regex === one).length,
  )
  let states = 0
  for (const [index, regex] of regexes.entries()) {
    states += widthOf(regex, compiled[index]!.instructionCount) * passes[index]!
    if (states * stateCost > costMax) break
  }
  const conditions = rules.flatMap(rule => rule.conditions)
  const cost = {
    regexes: states * stateCost,
    globs: globWords(rules) * globWordCost,
    headers: conditions.reduce((sum, { costPerCharacter }) => sum + costPerCharacter, 0) * headerWordCost,
  }
  return { ...cost, total: cost.regexes + cost.globs + cost.headers }
}

/** The cost of the globs that one key may be compared with: those whose literal prefix it has. */
function globWords(rules: readonly CompiledRule[]): number {
  const globs = rules.flatMap(({ pattern }) => (pattern.costPerCharacter > 0 ? [pattern] : []))
  const sums = globs.map(({ literalStart }) =>
    globs.reduce((sum, other) => sum + (literalStart.startsWith(other.literalStart) ? other.costPerCharacter : 0), 0),
  )
  return Math.max(0, ...sums)
}
