/**
 * Condition operators: parse a value of a policy, and compare values of a request with it. A negated operator gives the opposite result.
 * Source: AWS "IAM JSON policy elements: Condition operators".
 */
import { type AddressBlock, isInBlock, parseAddress, parseBlock } from './addresses.ts'
import { parseInstant } from './instant.ts'
import { quote } from './problems.ts'
import { type ConditionValues, readTemplate, type Template } from './template.ts'
import { WildcardPattern } from './wildcards.ts'

/** One parsed value of a policy. */
export interface Expectation {
  /** `value` is one value of the request. */
  matches(value: string, request: ConditionValues): boolean
  /** The value stands for a fixed caller, or for a block of addresses that is small enough not to mean everybody. */
  readonly isNarrow?: boolean
  /** The result depends on other values of the request, too. */
  readonly hasVariables?: boolean
  /** See `patternCost`. */
  readonly cost?: number
}

export interface Operator {
  readonly name: string
  readonly isNegated: boolean
  readonly isNull: boolean
  /** Its values have wildcards. */
  readonly isPattern: boolean
  /** The parsed value, or a sentence with its problem. */
  readonly read: (text: string, variables: boolean) => Expectation | string
}

type Compare = (a: number, b: number) => boolean

const comparisons: readonly (readonly [suffix: string, compare: Compare])[] = [
  ['LessThan', (a, b) => a < b],
  ['LessThanEquals', (a, b) => a <= b],
  ['GreaterThan', (a, b) => a > b],
  ['GreaterThanEquals', (a, b) => a >= b],
]
const equal: Compare = (a, b) => a === b

/** Text with variables; `compare` gets the request's value and the policy's value. */
function readString(fold: (text: string) => string): Operator['read'] {
  return (text, variables) => {
    const template = readTemplate(text, { wildcards: false, variables })
    if (typeof template === 'string') return template
    const { literal } = template
    if (literal !== undefined) {
      const expected = fold(literal)
      // Folding may make a text longer; one that is much longer is not folded for nothing.
      const lengthMax = 4 * expected.length
      return { isNarrow: true, matches: value => value.length <= lengthMax && fold(value) === expected }
    }
    return {
      hasVariables: true,
      matches(value, request) {
        const parts = template.resolve(request)
        return parts !== undefined && fold(value) === fold(parts.join(''))
      },
    }
  }
}

function patternOf(template: Template): (request: ConditionValues) => WildcardPattern | undefined {
  if (!template.hasVariables) {
    const pattern = template.pattern()
    return () => pattern
  }
  return request => {
    const parts = template.resolve(request)
    return parts === undefined ? undefined : new WildcardPattern(parts)
  }
}

/** The same bound as for resources. */
const patternLengthMax = 2048
const tooLong = `A value with wildcards is longer than ${patternLengthMax} characters.`

function readLike(text: string, variables: boolean): Expectation | string {
  if (text.length > patternLengthMax) return tooLong
  const template = readTemplate(text, { wildcards: true, variables })
  if (typeof template === 'string') return template
  const pattern = patternOf(template)
  return {
    isNarrow: template.literal !== undefined,
    hasVariables: template.hasVariables,
    cost: template.cost,
    matches: (value, request) => pattern(request)?.matches(value) ?? false,
  }
}

/** Six parts, each with its own wildcards: a wildcard does not match across a colon, except in the last part. */
function readArn(text: string, variables: boolean): Expectation | string {
  if (text.length > patternLengthMax) return tooLong
  const parts = splitArn(text)
  if (parts === undefined) return `${quote(text)} is no ARN: it has six parts with colons between them.`
  const patterns: ((request: ConditionValues) => WildcardPattern | undefined)[] = []
  let [isNarrow, hasVariables, cost] = [true, false, 0]
  for (const part of parts) {
    const template = readTemplate(part, { wildcards: true, variables })
    if (typeof template === 'string') return template
    isNarrow &&= template.literal !== undefined
    hasVariables ||= template.hasVariables
    cost += template.cost
    patterns.push(patternOf(template))
  }
  return {
    isNarrow,
    hasVariables,
    cost,
    matches(value, request) {
      const given = splitArn(value)
      return given?.every((part, index) => patterns[index](request)?.matches(part) ?? false) ?? false
    },
  }
}

function splitArn(text: string): readonly string[] | undefined {
  const parts = text.split(':', 5)
  if (parts.length < 5) return undefined
  const length = parts.reduce((sum, part) => sum + part.length + 1, 0)
  return length > text.length ? undefined : [...parts, text.slice(length)]
}

const numberForm = /^[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?$/

function readNumeric(compare: Compare): Operator['read'] {
  return text => {
    if (!numberForm.test(text)) return `${quote(text)} is no number.`
    const expected = Number(text)
    return { matches: value => numberForm.test(value) && compare(Number(value), expected) }
  }
}

function readDate(compare: Compare): Operator['read'] {
  return text => {
    const expected = parseInstant(text)
    if (expected === undefined) return `${quote(text)} is no date: write 2026-01-31T08:00:00Z, or seconds since 1970.`
    return {
      matches(value) {
        const given = parseInstant(value)
        return given !== undefined && compare(given, expected)
      },
    }
  }
}

function readBool(text: string): Expectation | string {
  const expected = text.toLowerCase()
  if (expected !== 'true' && expected !== 'false') return `${quote(text)} is neither true nor false.`
  return { matches: value => value.toLowerCase() === expected }
}

const base64Form = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

function readBinary(text: string): Expectation | string {
  if (!base64Form.test(text)) return `${quote(text)} is not Base64.`
  const expected = Buffer.from(text, 'base64')
  return {
    matches: value =>
      value.length === text.length && base64Form.test(value) && Buffer.from(value, 'base64').equals(expected),
  }
}

function readAddressBlock(text: string): Expectation | string {
  const block = parseBlock(text)
  if (block === undefined) return `${quote(text)} is neither an IP address nor a CIDR block.`
  return {
    isNarrow: isNarrowBlock(block),
    matches(value) {
      const address = parseAddress(value)
      return address !== undefined && isInBlock(address, block)
    },
  }
}

/** AWS calls a policy public if it allows blocks that are wider than these. */
function isNarrowBlock({ address, prefixLength }: AddressBlock): boolean {
  return prefixLength >= (address.family === 4 ? 8 : 32)
}

const same = (text: string) => text
const folded = (text: string) => text.toLowerCase()

type Row = readonly [name: string, read: Operator['read'], negatedName?: string]

const rows: readonly Row[] = [
  ['StringEquals', readString(same), 'StringNotEquals'],
  ['StringEqualsIgnoreCase', readString(folded), 'StringNotEqualsIgnoreCase'],
  ['StringLike', readLike, 'StringNotLike'],
  ['NumericEquals', readNumeric(equal), 'NumericNotEquals'],
  ...comparisons.map(([suffix, compare]): Row => [`Numeric${suffix}`, readNumeric(compare)]),
  ['DateEquals', readDate(equal), 'DateNotEquals'],
  ...comparisons.map(([suffix, compare]): Row => [`Date${suffix}`, readDate(compare)]),
  ['Bool', readBool],
  ['BinaryEquals', readBinary],
  ['IpAddress', readAddressBlock, 'NotIpAddress'],
  ['ArnEquals', readArn, 'ArnNotEquals'],
  ['ArnLike', readArn, 'ArnNotLike'],
]

/** All operators by name, without qualifier and `IfExists`. */
export const operators: ReadonlyMap<string, Operator> = new Map(
  [
    ...rows.flatMap(([name, read, negatedName]): Operator[] => {
      const isPattern = read === readLike || read === readArn
      const positive = { name, read, isNegated: false, isNull: false, isPattern }
      return negatedName === undefined ? [positive] : [positive, { ...positive, name: negatedName, isNegated: true }]
    }),
    { name: 'Null', read: readBool, isNegated: false, isNull: true, isPattern: false },
  ].map(operator => [operator.name, operator]),
)
