/**
 * The meaning of a policy in the simplest possible code: straight from the JSON, without compilation or an index, one character at a time.
 * The engine must agree with it. It supports only what the generators of properties.test.ts create.
 */
import { BlockList, isIPv4 } from 'node:net'
import type { Identity } from 'svc/plugins/iam/api'
import type { StatementDocument } from '../api.ts'

export interface SlowRequest {
  readonly identity: Identity | undefined
  readonly action: string
  readonly bucket: string
  readonly key: string
  readonly values: Readonly<Record<string, readonly string[]>>
  readonly blockPublicAccess: boolean
}

export interface SlowPolicies {
  readonly granted: readonly StatementDocument[]
  readonly bucket: readonly StatementDocument[]
  readonly limit: readonly StatementDocument[] | undefined
}

/** A character of a pattern: `*` and `?` only if they are wildcards. */
type Unit = { readonly wildcard: '*' | '?' } | { readonly character: string }

function glob(pattern: readonly Unit[], text: string): boolean {
  if (pattern.length === 0) return text === ''
  const [first, ...rest] = pattern
  if ('character' in first) return text[0] === first.character && glob(rest, text.slice(1))
  if (first.wildcard === '?') return text !== '' && glob(rest, text.slice(1))
  return glob(rest, text) || (text !== '' && glob(pattern, text.slice(1)))
}

const listOf = <T>(value: T | readonly T[] | undefined): readonly T[] =>
  value === undefined ? [] : Array.isArray(value) ? (value as readonly T[]) : [value as T]

function valuesOf(request: SlowRequest, key: string): readonly string[] {
  const { identity } = request
  switch (key.toLowerCase()) {
    case 'aws:username':
      return identity === undefined ? [] : [identity.userName ?? identity.accessKey]
    case 'aws:groups':
      return identity?.groups ?? []
    default:
      return request.values[key.toLowerCase()] ?? []
  }
}

/** Undefined: a variable has no value. */
function unitsOf(text: string, wildcards: boolean, request: SlowRequest): Unit[] | undefined {
  const units: Unit[] = []
  let rest = text
  while (rest !== '') {
    const variable = /^\$\{([^}]*)\}/.exec(rest)
    if (variable !== null) {
      const [key, fallback] = variable[1].split(', ')
      const found = ['*', '?', '$'].includes(key) ? [key] : valuesOf(request, key)
      const value = found.length === 1 ? found[0] : fallback?.slice(1, -1)
      if (value === undefined) return undefined
      for (const character of value.split('')) units.push({ character })
      rest = rest.slice(variable[0].length)
    } else {
      const [character] = rest
      units.push(wildcards && (character === '*' || character === '?') ? { wildcard: character } : { character })
      rest = rest.slice(1)
    }
  }
  return units
}

const textOf = (units: readonly Unit[]): string =>
  units.map(unit => ('character' in unit ? unit.character : unit.wildcard)).join('')

function fits(text: string, value: string, wildcards: boolean, request: SlowRequest): boolean {
  const units = unitsOf(text, wildcards, request)
  return units !== undefined && glob(units, value)
}

function isInBlock(address: string, block: string): boolean {
  const list = new BlockList()
  const [network, prefix] = block.split('/')
  list.addSubnet(network, Number(prefix), isIPv4(network) ? 'ipv4' : 'ipv6')
  // BlockList also matches IPv4 addresses in IPv6 blocks; policies do not.
  return isIPv4(address) === isIPv4(network) && list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

/** Compares one value of the request with one of the policy, for the operator without its negation. */
function agrees(operator: string, expected: string, value: string, request: SlowRequest): boolean {
  switch (operator) {
    case 'StringEquals':
      return fits(expected, value, false, request)
    case 'StringLike':
      return fits(expected, value, true, request)
    case 'StringEqualsIgnoreCase': {
      const units = unitsOf(expected, false, request)
      return units !== undefined && textOf(units).toLowerCase() === value.toLowerCase()
    }
    case 'NumericEquals':
      return value.trim() !== '' && Number(value) === Number(expected)
    case 'NumericLessThan':
      return value.trim() !== '' && Number(value) < Number(expected)
    case 'Bool':
      return value === expected
    case 'IpAddress':
      return isInBlock(value, expected)
    default:
      throw new Error(`the slow evaluator does not know ${operator}`)
  }
}

function conditionHolds(
  name: string,
  key: string,
  expected: readonly string[],
  request: SlowRequest,
  effect: StatementDocument['Effect'],
): boolean {
  const given = valuesOf(request, key)
  const qualifier = name.includes(':') ? name.split(':')[0] : ''
  let operator = name.slice(name.indexOf(':') + 1)
  const ifExists = operator.endsWith('IfExists')
  operator = operator.replace(/IfExists$/, '')
  if (operator === 'Null') return expected.includes(given.length === 0 ? 'true' : 'false')
  if (given.length === 0 && ifExists) return true
  const negated = /Not/.test(operator)
  operator = operator.replace('Not', '')
  const one = (value: string) => expected.some(text => agrees(operator, text, value, request)) !== negated
  const isNothing = given.every(value => value === '')
  if (qualifier === 'ForAllValues') return isNothing || given.every(one)
  if (qualifier === 'ForAnyValue') return !isNothing && given.some(one)
  if (given.length === 0) return negated
  const isList = ['aws:groups', 's3:requestobjecttagkeys'].includes(key.toLowerCase())
  if (given.length > 1 && !isList) return effect === 'Deny'
  return negated ? given.every(one) : given.some(one)
}

function isNamed(principal: StatementDocument['Principal'], identity: Identity | undefined): boolean {
  const names = typeof principal === 'string' ? [principal] : listOf(principal?.AWS)
  return names.some(
    name => name === '*' || (identity && name === `arn:aws:iam:::user/${identity.userName ?? identity.accessKey}`),
  )
}

const serverActions = ['s3:ListAllMyBuckets', 'admin:ServerInfo']
const bucketActions = ['s3:ListBucket', 's3:PutBucketPolicy']

function matches(statement: StatementDocument, request: SlowRequest): boolean {
  const { Principal, NotPrincipal, Action, NotAction, Resource, NotResource, Condition = {} } = statement
  if (Principal !== undefined && !isNamed(Principal, request.identity)) return false
  if (NotPrincipal !== undefined && isNamed(NotPrincipal, request.identity)) return false
  const isAction = (pattern: string) => {
    const units = pattern
      .toLowerCase()
      .split('')
      .map(c => (c === '*' || c === '?' ? { wildcard: c } : { character: c }) as Unit)
    return glob(units, request.action.toLowerCase())
  }
  if (Action !== undefined && !listOf(Action).some(isAction)) return false
  if (NotAction !== undefined && listOf(NotAction).some(isAction)) return false
  const subject = serverActions.includes(request.action)
    ? '*'
    : bucketActions.includes(request.action)
      ? request.bucket
      : `${request.bucket}/${request.key}`
  const isResource = (arn: string) => fits(arn, `arn:aws:s3:::${subject}`, true, request)
  if (Resource !== undefined && !listOf(Resource).some(isResource)) return false
  if (NotResource !== undefined && listOf(NotResource).some(isResource)) return false
  return Object.entries(Condition).every(([operator, keys]) =>
    Object.entries(keys).every(([key, expected]) =>
      conditionHolds(operator, key, listOf(expected).map(String), request, statement.Effect),
    ),
  )
}

/** Everybody is allowed, and no condition requires a fixed caller or network. */
function isPublic({ Effect, Principal, Condition = {} }: StatementDocument): boolean {
  if (Effect !== 'Allow' || !(Principal === '*' || listOf((Principal as { AWS?: string })?.AWS).includes('*')))
    return false
  return !Object.entries(Condition).some(([name, keys]) => {
    const operator = name.replace('ForAnyValue:', '')
    return Object.entries(keys).some(([key, expected]) => {
      const values = listOf(expected).map(String)
      if (key === 'aws:SourceIp') {
        const isNarrow = (block: string) => Number(block.split('/')[1]) >= (block.includes(':') ? 32 : 8)
        return operator === 'IpAddress' && values.every(isNarrow)
      }
      if (key !== 'aws:username' && key !== 'aws:groups') return false
      if (operator !== 'StringEquals' && operator !== 'StringLike' && operator !== 'StringEqualsIgnoreCase')
        return false
      return values.every(value => !/\$\{[^*?$]/.test(value) && (operator !== 'StringLike' || !/[*?]/.test(value)))
    })
  })
}

export function slowDecision(request: SlowRequest, { granted, bucket, limit }: SlowPolicies): boolean {
  if (request.identity?.isRoot) return true
  const ofIdentity = request.identity === undefined ? [] : granted
  const ofBucket = request.action.startsWith('s3:') ? bucket : []
  const limits = request.identity === undefined ? [] : (limit ?? [])
  const all = [...ofIdentity, ...ofBucket, ...limits]
  if (all.some(statement => statement.Effect === 'Deny' && matches(statement, request))) return false
  const allows = (statement: StatementDocument) =>
    statement.Effect === 'Allow' && matches(statement, request) && !(request.blockPublicAccess && isPublic(statement))
  if (![...ofIdentity, ...ofBucket].some(allows)) return false
  return request.identity === undefined || limit === undefined || limit.some(allows)
}

export { glob, type Unit }
