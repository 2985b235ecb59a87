/** The rules of a bucket, evaluated as obviously as can be: no sorting, no sets, nothing kept, regular expressions of JavaScript. */
import { BlockList, isIPv6 } from 'node:net'
import type { Identity } from 'svc/plugins/iam/api'
import type { RequestFacts } from 'svc/plugins/policy/api'
import { type AccessRule, actionClasses } from '../rule.ts'

export interface SlowRequest {
  /** The prefix where it is a listing. */
  readonly text: string
  readonly action: string
  readonly identity: Identity | undefined
  readonly facts: RequestFacts
  readonly isPublicBlocked: boolean
}

export function slowDecision(rules: readonly AccessRule[], request: SlowRequest): 'allow' | 'deny' | 'none' {
  const matching = rules.filter(rule => matches(rule, request))
  if (matching.length === 0) return 'none'
  const lowest = Math.min(...matching.map(({ priority }) => priority))
  const deciding = matching.filter(({ priority }) => priority === lowest)
  return deciding.some(({ effect }) => effect === 'deny') ? 'deny' : 'allow'
}

function matches(rule: AccessRule, request: SlowRequest): boolean {
  return (
    isOfCaller(rule, request) &&
    rule.actions.some(name =>
      ((actionClasses as Record<string, readonly string[]>)[name] ?? [name]).includes(request.action),
    ) &&
    isOfText(rule, request) &&
    holds(rule, request)
  )
}

function isOfCaller({ effect, principals }: AccessRule, { identity, isPublicBlocked }: SlowRequest): boolean {
  return principals.some(principal => {
    if (principal === '*') return effect === 'deny' || !isPublicBlocked
    if (identity === undefined) return false
    const [kind, name] = principal.split(':') as [string, string]
    return kind === 'group'
      ? (identity.groups ?? []).includes(name)
      : (identity.userName ?? identity.accessKey) === name
  })
}

function expressionOf({ match }: AccessRule): RegExp {
  if (match === undefined) return /(?:)/u
  const flags = match.caseInsensitive === true ? 'ui' : 'u'
  switch (match.type) {
    case 'prefix':
      return new RegExp(`^${literal(match.pattern)}`, flags)
    case 'glob':
      return new RegExp(`^(?:${globSource(match.pattern)})$`, `${flags}s`)
    default:
      return new RegExp(match.pattern.replaceAll('(?P<', '(?<'), flags)
  }
}

function globSource(glob: string): string {
  let source = ''
  for (let rest = glob; rest !== ''; ) {
    const word = /^(?:\*\*+|\*|\?|\{|\}|,|[^*?{},])/u.exec(rest)![0]
    rest = rest.slice(word.length)
    if (word.startsWith('**')) source += '.*'
    else if (word === '*') source += '[^/]*'
    else if (word === '?') source += '[^/]'
    else if (word === '{') source += '(?:'
    else if (word === '}') source += ')'
    else if (word === ',') source += '|'
    else source += literal(word)
  }
  return source
}

function isOfText(rule: AccessRule, { text }: SlowRequest): boolean {
  return expressionOf(rule).test(text)
}

function inBlocks(blocks: readonly string[], address: string): boolean {
  return blocks.some(block => {
    const list = new BlockList()
    const [net, bits] = block.split('/') as [string, string]
    list.addSubnet(net, Number(bits), isIPv6(net) ? 'ipv6' : 'ipv4')
    return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  })
}

function holds(rule: AccessRule, { text, facts, identity }: SlowRequest): boolean {
  const { conditions = {} } = rule
  const { sourceIp, notSourceIp, secureTransport, methods, timeWindow, headers, host, captureEquals } = conditions
  if (sourceIp !== undefined && !inBlocks(sourceIp, facts.sourceAddress)) return false
  if (notSourceIp !== undefined && inBlocks(notSourceIp, facts.sourceAddress)) return false
  if (secureTransport !== undefined && secureTransport !== facts.secure) return false
  if (methods !== undefined && !methods.includes(facts.method!)) return false
  if (host !== undefined && !host.includes(facts.host!)) return false
  if (timeWindow?.from !== undefined && facts.timeMs < Date.parse(timeWindow.from)) return false
  if (timeWindow?.to !== undefined && facts.timeMs >= Date.parse(timeWindow.to)) return false
  for (const [name, pattern] of Object.entries(headers ?? {})) {
    const value = facts.headers[name] as string | undefined
    const source = pattern
      .replaceAll(/[^*?]/gu, one => literal(one))
      .replaceAll('*', '.*')
      .replaceAll('?', '.')
    if (value === undefined || !new RegExp(`^${source}$`, 'us').test(value)) return false
  }
  if (captureEquals === undefined) return true
  const groups = expressionOf(rule).exec(text)!.groups ?? {}
  return Object.entries(captureEquals).every(([name, value]) => {
    if (value.includes('username'))
      return identity !== undefined && groups[name] === (identity.userName ?? identity.accessKey)
    return groups[name] === value
  })
}

/** For expressions with the flag u. */
export function literal(text: string): string {
  return Array.from(text, character => `\\u{${character.codePointAt(0)!.toString(16)}}`).join('')
}
