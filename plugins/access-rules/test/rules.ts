/** Rules and requests of tests. */
import type { Identity } from 'svc/plugins/iam/api'
import { createCatalogue, type RequestFacts } from 'svc/plugins/policy/api'
import { requestOf } from '../access-rules.ts'
import { checkRules } from '../check-rules.ts'
import type { AccessRule } from '../rule.ts'
import type { RuleSet } from '../rule-set.ts'

export const context = { actions: createCatalogue().actions, normalizeKey: (text: string) => text.normalize('NFC') }

export const user = (accessKey: string, groups: readonly string[] = []): Identity => ({
  accessKey,
  isRoot: false,
  ownerId: 'e'.repeat(64),
  displayName: accessKey,
  groups,
})

export const ada = user('ada', ['staff'])
export const bob = user('bob')

export const facts: RequestFacts = {
  sourceAddress: '192.0.2.7',
  secure: false,
  timeMs: Date.parse('2026-06-01T12:00:00Z'),
  headers: {},
  host: 'files.example.org:9000',
  method: 'GET',
}

/** A rule that allows anonymous reads, with the given changes. */
export function rule(fields: Partial<AccessRule> = {}): AccessRule {
  return { id: 'r', priority: 100, effect: 'allow', principals: ['*'], actions: ['read'], ...fields }
}

export function compile(...rules: readonly object[]): RuleSet {
  const { set, problems } = checkRules(rules, context)
  if (set === undefined) throw new Error(JSON.stringify(problems))
  return set
}

export interface Asked {
  readonly key?: string
  readonly prefix?: string
  readonly action?: string
  readonly identity?: Identity
  readonly facts?: Partial<RequestFacts>
  readonly isPublicBlocked?: boolean
}

/** The effect and the id of the rule that decides: `allow r`; `none`. */
export function decide(
  set: RuleSet,
  { key = 'a', prefix, action, identity, facts: more, isPublicBlocked }: Asked = {},
) {
  const isListing = prefix !== undefined
  const request = requestOf({
    key: isListing ? undefined : key,
    action: action ?? (isListing ? 's3:ListBucket' : 's3:GetObject'),
    facts: { ...facts, prefix, ...more },
    identity,
  })
  const found = set.find(request, isPublicBlocked === true)
  return found === undefined ? 'none' : `${found.rule.effect} ${found.rule.id}`
}

/** The problems, as lines: `rule field@position: message`. */
export function problemsOf(...rules: readonly unknown[]): readonly string[] {
  const { problems = [] } = checkRules(rules, context)
  return problems.map(({ rule: index, field, position, message }) => `${index} ${field}@${position}: ${message}`)
}
