/**
 * Estimates the memory of a bucket's compiled rules. A small document can make large tables (an alternative in braces is a pattern of its
 * own), so it is bounded when rules are stored, and counts in the cache of the store. The figures are measured, rounded up.
 */
import type { CompiledRule } from './compiled-rule.ts'
import type { RegexList } from './matching.ts'
import { indexedCharsMax } from './rule-index.ts'

/** Maximum memory of a bucket's rules in each thread that has loaded them. */
export const memoryBytesMax = 8 * 1024 * 1024

const ruleBytes = 2000
const principalBytes = 200
const conditionValueBytes = 200
/** Bytes per character in the index of literal beginnings. */
const nodeBytes = 850
/** Automata of both sets of expressions. */
const automataBytes = 128 * 1024

export function memoryOfRule({ principals, pattern, conditions, rule }: CompiledRule): number {
  const values = Object.values(rule.conditions ?? {}).map(value =>
    typeof value === 'object' ? Object.keys(value).length : 1,
  )
  return (
    ruleBytes +
    (principals.users.size + principals.groups.size) * principalBytes +
    values.reduce((sum, count) => sum + count, 0) * conditionValueBytes +
    Math.min(pattern.literalStart.length, indexedCharsMax) * nodeBytes +
    conditions.reduce((sum, { memoryBytes }) => sum + memoryBytes, pattern.memoryBytes)
  )
}

export function memoryOfRegexes({ compiled }: RegexList): number {
  return compiled.reduce((sum, { memoryBytes }) => sum + memoryBytes, compiled.length === 0 ? 0 : automataBytes)
}
