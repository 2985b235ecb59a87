/**
 * Estimates the cost of a bucket's rules for the worst request when they are stored, so that no request takes more than some milliseconds.
 * One unit is about 4 µs of CPU for a key of `textCharsMax` characters: with `costMax` the worst key and headers are to take at most 5 ms
 * (`test/perf/evaluation.ts` prints what they take).
 */
import type { CompiledRule } from './compiled-rule.ts'
import type { RegexList } from './matching.ts'
import { literalStartOf, type Regex, widthOf } from './regexes.ts'

export const costMax = 480

/** Cost of each simultaneous state of an expression, of 32 characters of a glob, and of a pattern for a header. */
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
  const states = regexStates(
    regexes,
    (regex, index) => widthOf(regex, compiled[index]!.instructionCount) * passes[index]!,
  )
  const cost = {
    regexes: states * stateCost,
    globs: globWords(rules) * globWordCost,
    headers: rules.reduce((sum, rule) => sum + headerCostOf(rule), 0),
  }
  return { ...cost, total: cost.regexes + cost.globs + cost.headers }
}

/** Cost of the referers and headers of one rule. */
export function headerCostOf({ conditions }: CompiledRule): number {
  return conditions.reduce((sum, { costPerCharacter }) => sum + costPerCharacter, 0) * headerWordCost
}

/**
 * States that all regexes can be in at once: of each the one with which it is in its literal beginning, and the others of those whose
 * literal beginnings one key can have.
 */
function regexStates(regexes: readonly Regex[], statesOf: (regex: Regex, index: number) => number): number {
  const byStart = new Map<string, number>()
  for (const [index, regex] of regexes.entries()) {
    const start = literalStartOf(regex)
    const states = statesOf(regex, index)
    byStart.set(start, (byStart.get(start) ?? 0) + states - 1)
    // Measuring takes time.
    if (regexes.length + byStart.get(start)! > costMax / stateCost) break
  }
  const sums = [...byStart.keys()].map(start =>
    [...byStart].reduce((sum, [other, states]) => sum + (start.startsWith(other) ? states : 0), 0),
  )
  return regexes.length + Math.max(0, ...sums)
}

/** The cost of the globs that one key may be compared with: those whose literal prefix it has. */
function globWords(rules: readonly CompiledRule[]): number {
  const globs = rules.flatMap(({ pattern }) => (pattern.costPerCharacter > 0 ? [pattern] : []))
  const sums = globs.map(({ literalStart }) =>
    globs.reduce((sum, other) => sum + (literalStart.startsWith(other.literalStart) ? other.costPerCharacter : 0), 0),
  )
  return Math.max(0, ...sums)
}
