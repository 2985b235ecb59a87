/** The signed texts: canned policies, and custom policies, parsed and written. */
import { type AddressBlock, parseBlock } from 'svc/plugins/policy/api'

/** The URLs and the time that a signature allows. Times in seconds since 1970. */
export interface SignedPolicy {
  /** A pattern. */
  readonly resource: string
  readonly beforeSeconds: number
  readonly afterSeconds: number | undefined
  /** Undefined: from anywhere. */
  readonly addresses: readonly AddressBlock[] | undefined
}

export type PolicyProblem = 'malformed_policy' | 'unsupported_condition'

const secondsMax = 999_999_999_999
const addressesMax = 10
const conditionNames = ['DateLessThan', 'DateGreaterThan', 'IpAddress']
const timeNames = ['AWS:EpochTime', 'epochTime']
const addressNames = ['AWS:SourceIp', 'sourceIp']
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** `Expires` as it stands in the text: a number without sign and leading zeros. */
export const isExpiry = (text: string): boolean => /^[1-9][0-9]{0,11}$/.test(text)

/** The text that the signature of a URL with `Expires` is over. */
export function cannedPolicy(url: string, expires: string | number): string {
  return `{"Statement":[{"Resource":${JSON.stringify(url)},"Condition":{"DateLessThan":{"AWS:EpochTime":${expires}}}}]}`
}

export interface PolicyToWrite {
  readonly resource: string
  readonly beforeSeconds: number
  readonly afterSeconds?: number
  readonly address?: string
}

/** The members in the order in which signers write them. */
export function customPolicy({ resource, beforeSeconds, afterSeconds, address }: PolicyToWrite): string {
  return JSON.stringify({
    Statement: [
      {
        Resource: resource,
        Condition: {
          DateLessThan: { 'AWS:EpochTime': beforeSeconds },
          ...(afterSeconds !== undefined && { DateGreaterThan: { 'AWS:EpochTime': afterSeconds } }),
          ...(address !== undefined && { IpAddress: { 'AWS:SourceIp': address } }),
        },
      },
    ],
  })
}

/** Parses a policy whose signature is valid. Unknown members are refused: a condition that is not checked would be none. */
export function parsePolicy(bytes: Buffer): SignedPolicy | PolicyProblem {
  let root: unknown
  try {
    root = JSON.parse(utf8.decode(bytes))
  } catch {
    return 'malformed_policy'
  }
  const statement = statementIn(root)
  if (statement === undefined || !hasOnly(statement, ['Resource', 'Condition'])) return 'malformed_policy'
  const { Resource: resource = '*', Condition: condition } = statement
  if (typeof resource !== 'string' || !isObject(condition)) return 'malformed_policy'
  if (!hasOnly(condition, conditionNames)) return 'unsupported_condition'
  const parts = Object.entries(condition).map(([name, value]) => ({ name, value, ...memberOf(name, value) }))
  const problem = parts.find(part => part.problem !== undefined)?.problem
  if (problem !== undefined) return problem
  const memberNamed = (name: string): unknown => parts.find(part => part.name === name)?.member
  const beforeSeconds = memberNamed('DateLessThan')
  const afterSeconds = memberNamed('DateGreaterThan')
  const source = memberNamed('IpAddress')
  if (!isSeconds(beforeSeconds) || (afterSeconds !== undefined && !isSeconds(afterSeconds))) return 'malformed_policy'
  const addresses = source === undefined ? undefined : blocksOf(source)
  if (addresses === 'malformed_policy') return addresses
  return { resource, beforeSeconds, afterSeconds, addresses }
}

function statementIn(root: unknown): Record<string, unknown> | undefined {
  if (!isObject(root) || !hasOnly(root, ['Statement'])) return undefined
  const { Statement: statements } = root
  const statement = Array.isArray(statements) && statements.length === 1 ? statements[0] : statements
  return isObject(statement) ? statement : undefined
}

/** The one member of a condition. */
function memberOf(name: string, value: unknown): { readonly member?: unknown; readonly problem?: PolicyProblem } {
  if (!isObject(value)) return { problem: 'malformed_policy' }
  const names = name === 'IpAddress' ? addressNames : timeNames
  if (!hasOnly(value, names)) return { problem: 'unsupported_condition' }
  const members = Object.values(value)
  return members.length === 1 ? { member: members[0] } : { problem: 'malformed_policy' }
}

function blocksOf(source: unknown): readonly AddressBlock[] | 'malformed_policy' {
  const texts: readonly unknown[] = Array.isArray(source) ? source : [source]
  if (texts.length === 0 || texts.length > addressesMax) return 'malformed_policy'
  const blocks: AddressBlock[] = []
  for (const text of texts) {
    const block = typeof text === 'string' ? parseBlock(text) : undefined
    if (block === undefined) return 'malformed_policy'
    blocks.push(block)
  }
  return blocks
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const hasOnly = (value: object, names: readonly string[]): boolean =>
  Object.keys(value).every(name => names.includes(name))

const isSeconds = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= secondsMax
