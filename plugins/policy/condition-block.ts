/**
 * `Condition`: all of its entries must hold. An entry holds if the request's value matches one of the policy's values; an entry with a
 * negated operator, if it matches none. If the request has no value of the key, the entry is:
 *
 *     plain operator          false        ForAllValues:   true
 *     negated operator        true         ForAnyValue:    false, also if negated
 *     …IfExists               true         Null            decided by the entry's own value
 *
 * ForAllValues tests each value of the request, ForAnyValue any of them. Without either, one matching value is a match, and a negated
 * operator gives the opposite of its positive one. If a key that has a single value gets several (two tags whose names differ in case
 * only), the right one is unknown: then the entry holds for a statement that denies, and does not for one that allows. The same is true of a
 * value that is too long to be compared with wildcards: a header may have 32 KiB, and a policy a thousand patterns.
 */

import { findConditionKey } from './condition-keys.ts'
import { asItIs, type NormalizeKey } from './config.ts'
import { kindOf } from './elements.ts'
import type { JsonNode } from './json-reader.ts'
import { kmsKeyIdCondition, kmsKeySpellings, normalizeKmsKey } from './kms-key-id.ts'
import { type Expectation, type Operator, operators } from './operators.ts'
import { type Problems, quote } from './problems.ts'
import { isWorthRemembering, remembered } from './recent-matches.ts'
import type { ConditionValues } from './template.ts'

export type Quantifier = 'ForAllValues' | 'ForAnyValue' | undefined

/** Keys that identify the caller or its address: a condition on one of them can limit a statement for everybody to a few callers. */
const narrowingKeys = new Set(['aws:sourceip', 'aws:username', 'aws:userid', 'aws:principalarn', 'aws:groups'])

/** Longest value that is compared with wildcards. Object keys have at most 1024 bytes, and browsers send a Referer of at most 4096. */
export const patternTextMax = 4096

export class Condition {
  /** As in the document: `ForAnyValue:StringLikeIfExists`. */
  readonly operatorName: string
  /** As in the document. */
  readonly keyName: string
  /** Lower case. */
  readonly key: string
  readonly #operator: Operator
  readonly #quantifier: Quantifier
  readonly #ifExists: boolean
  readonly #expected: readonly Expectation[]
  readonly #isList: boolean
  readonly #isKmsKey: boolean
  readonly #hasVariables: boolean
  /** See `patternCost`. */
  readonly cost: number

  constructor(operatorName: string, parsed: ParsedOperator, keyName: string, expected: readonly Expectation[]) {
    this.operatorName = operatorName
    this.keyName = keyName
    this.key = keyName.toLowerCase()
    this.#operator = parsed.operator
    this.#quantifier = parsed.quantifier
    this.#ifExists = parsed.ifExists
    this.#expected = expected
    this.#isList = findConditionKey(this.key)?.isList === true
    this.#isKmsKey = this.key === kmsKeyIdCondition
    this.#hasVariables = expected.some(({ hasVariables }) => hasVariables === true)
    this.cost = expected.reduce((sum, { cost = 0 }) => sum + cost, 0)
  }

  /** `isDeny`: the condition is part of a statement that denies. */
  holds(request: ConditionValues, isDeny: boolean): boolean {
    const given = request.values(this.key)
    const isAbsent = given === undefined || given.length === 0
    const { isNull, isNegated } = this.#operator
    if (isNull) return this.#agrees(isAbsent ? 'true' : 'false', request)
    if (isAbsent && this.#ifExists) return true
    if (this.#operator.isPattern && given?.some(value => value.length > patternTextMax) === true) return isDeny
    switch (this.#quantifier) {
      case 'ForAllValues':
        // As on AWS: true without values, and if all values are empty.
        return (
          isAbsent ||
          given.every(value => value === '') ||
          given.every(value => this.#agrees(value, request) !== isNegated)
        )
      case 'ForAnyValue':
        return (
          !isAbsent &&
          !given.every(value => value === '') &&
          given.some(value => this.#agrees(value, request) !== isNegated)
        )
    }
    if (isAbsent) return isNegated
    if (given.length > 1 && !this.#isList) return isDeny
    for (const value of given) if (this.#agrees(value, request)) return !isNegated
    return isNegated
  }

  /** Only callers that the policy names, or addresses in sufficiently small blocks, can fulfil it. */
  get isNarrowing(): boolean {
    if (!narrowingKeys.has(this.key) || this.#operator.isNegated || this.#operator.isNull) return false
    if (this.#ifExists || this.#quantifier === 'ForAllValues') return false
    return this.#expected.every(({ isNarrow }) => isNarrow === true)
  }

  #agrees(value: string, request: ConditionValues): boolean {
    // One value with several names: it matches if any name matches, and a negated operator holds only if none does.
    if (this.#isKmsKey && !this.#operator.isNull) {
      return kmsKeySpellings(value).some(name => this.#agreesAs(name, request))
    }
    return this.#agreesAs(value, request)
  }

  #agreesAs(value: string, request: ConditionValues): boolean {
    if (this.#hasVariables || !isWorthRemembering(this.cost, value)) return this.#compare(value, request)
    return remembered(this, value, () => this.#compare(value, request))
  }

  #compare(value: string, request: ConditionValues): boolean {
    for (const expectation of this.#expected) if (expectation.matches(value, request)) return true
    return false
  }
}

interface ParsedOperator {
  readonly operator: Operator
  readonly quantifier: Quantifier
  readonly ifExists: boolean
}

export interface ConditionOptions {
  readonly variables: boolean
  readonly normalizeKey: NormalizeKey
}

/** Condition keys whose values are object keys or prefixes of them. */
const keysOfObjects = new Set(['s3:prefix', 's3:x-amz-copy-source'])

function normalizerOf(key: string, { normalizeKey }: ConditionOptions): (text: string) => string {
  if (key === kmsKeyIdCondition) return normalizeKmsKey
  return keysOfObjects.has(key) ? normalizeKey : asItIs
}

export function readConditions(node: JsonNode, options: ConditionOptions, problems: Problems): readonly Condition[] {
  const conditions: Condition[] = []
  if (node.kind !== 'object') {
    problems.error(node.at, 'Condition', `Condition is an object, not ${kindOf(node)}.`)
    return conditions
  }
  for (const { key: operatorName, at, value: keys } of node.members) {
    const element = `Condition.${operatorName.slice(0, 80)}`
    const parsed = parseOperator(operatorName)
    if (typeof parsed === 'string') problems.error(at, 'Condition', parsed)
    if (keys.kind !== 'object') {
      problems.error(keys.at, element, `${quote(operatorName)} has an object of condition keys, not ${kindOf(keys)}.`)
      continue
    }
    const seen = new Set<string>()
    for (const { key: keyName, at: keyAt, value } of keys.members) {
      const place = `${element}.${keyName.slice(0, 80)}`
      checkKey(keyName, keyAt, place, seen, problems)
      if (typeof parsed === 'string') continue
      const normalize = normalizerOf(keyName.toLowerCase(), options)
      const expected = readExpected(value, parsed.operator, options.variables, normalize, place, problems)
      conditions.push(new Condition(operatorName, parsed, keyName, expected))
    }
  }
  return conditions
}

function checkKey(name: string, at: number, element: string, seen: Set<string>, problems: Problems): void {
  const lowerCase = name.toLowerCase()
  const known = findConditionKey(lowerCase)
  if (known === undefined) problems.error(at, element, `${quote(name)} is no condition key that exists.`)
  else if (known.isAbsent) problems.warn(at, element, `${quote(name)} has no meaning here and is never present.`)
  // A repeated key in the same spelling is reported as a duplicate key of the JSON.
  if (seen.has(lowerCase) && !seen.has(name)) {
    problems.error(at, element, `The condition key ${quote(name)} occurs twice: case does not matter.`)
  }
  seen.add(lowerCase).add(name)
}

function parseOperator(text: string): ParsedOperator | string {
  const colon = text.indexOf(':')
  const prefix = text.slice(0, Math.max(colon, 0))
  if (colon >= 0 && prefix !== 'ForAllValues' && prefix !== 'ForAnyValue') {
    return `${quote(text)} is no condition operator: only ForAllValues and ForAnyValue stand before a colon.`
  }
  const name = text.slice(colon + 1)
  const ifExists = name.endsWith('IfExists')
  const plainName = ifExists ? name.slice(0, -'IfExists'.length) : name
  const operator = operators.get(plainName)
  if (operator === undefined) {
    const lowerCase = plainName.toLowerCase()
    const meant = [...operators.keys()].find(known => known.toLowerCase() === lowerCase)
    return `${quote(text)} is no condition operator.${meant === undefined ? '' : ` Write "${meant}".`}`
  }
  if (operator.isNull && (ifExists || colon >= 0)) return `${quote(text)}: Null stands alone.`
  return { operator, quantifier: colon < 0 ? undefined : (prefix as Quantifier), ifExists }
}

function readExpected(
  node: JsonNode,
  operator: Operator,
  variables: boolean,
  normalize: NormalizeKey,
  element: string,
  problems: Problems,
): readonly Expectation[] {
  const items = node.kind === 'list' ? node.items : [node]
  if (items.length === 0) problems.error(node.at, element, 'A condition needs a value; the list is empty.')
  const expected: Expectation[] = []
  for (const item of items) {
    if (item.kind !== 'string' && item.kind !== 'number' && item.kind !== 'boolean') {
      problems.error(item.at, element, `A value is a string, a number or a boolean, not ${kindOf(item)}.`)
      continue
    }
    const expectation = operator.read(normalize(String(item.value)), variables)
    if (typeof expectation === 'string') problems.error(item.at, element, expectation)
    else expected.push(expectation)
  }
  return expected
}
