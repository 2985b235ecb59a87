/** Everything that opens a bucket to callers without credentials, whoever decides: rules, statements, lists, distributions. */
import type { PolicyService, PublicStatement, StatementDocument } from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'
import type { CompiledRule } from './compiled-rule.ts'
import type { PublicRoute } from './points.ts'
import { type ActionClass, actionClasses, openTimeOf } from './rule.ts'

export const AccessOpening = Type.Object(
  {
    source: Type.Enum(['access-rule', 'bucket-policy', 'acl', 'distribution'], {
      description: '`acl`: the access control list of the bucket. `distribution`: one that shows objects to everybody.',
    }),
    name: Type.String({
      description:
        'The id of the rule or of the distribution; of a statement of the policy its Sid, else its index. Empty for the list.',
    }),
    actions: Type.Array(Type.String(), {
      description: 'Classes (read, list, write, delete, tag), and single actions of S3.',
    }),
    keys: Type.Array(Type.String(), {
      description:
        'Patterns of keys, as they are written; empty: every key. After `(?i)` case does not matter. A regular expression of a distribution is one of paths, which is said before it.',
    }),
    except: Type.Array(Type.String(), {
      description:
        'Of a distribution: patterns of keys among them for which it asks for a signed link or a user, or shows nobody; `(?i)` as in `keys`.',
    }),
    deniedBy: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Of a rule, a statement or a list: ids of rules that come before it, deny everybody some of the same, and so may keep a part closed.',
      }),
    ),
    limited: Type.Boolean({ description: 'Conditions, or restrictions of the distribution, have to hold as well.' }),
    blocked: Type.Boolean({ description: 'It has no effect, because public access is blocked.' }),
    from: Type.Optional(
      Type.String({ format: 'date-time', description: 'Of a rule whose time window has not begun: when it does.' }),
    ),
    domains: Type.Array(Type.String(), { description: 'Of a distribution.' }),
    versions: Type.Optional(
      Type.Literal(true, { description: 'Of a distribution: it shows old and deleted versions too, by their ids.' }),
    ),
    warning: Type.Optional(Type.String({ description: 'The one of `warnings` that says the same of a rule.' })),
  },
  { $id: 'AccessOpening' },
)

export type Opening = Static<typeof AccessOpening>

export interface OpeningsOptions {
  readonly policy: Pick<PolicyService, 'publicStatements'>
  /** Those that are in force, or will be. */
  readonly rules: readonly { readonly rule: CompiledRule; readonly fromMs: number }[]
  /** All rules, as they decide. */
  readonly ordered: readonly CompiledRule[]
  readonly nowMs: number
  /** What is told of a rule as a warning, too. */
  readonly warningOf: (rule: CompiledRule) => string | undefined
  readonly routes: readonly PublicRoute[]
  readonly isPublicBlocked: boolean
}

export function openingsOf(
  bucket: string,
  { policy, rules, ordered, nowMs, warningOf, routes, isPublicBlocked: blocked }: OpeningsOptions,
): Opening[] {
  const denies = ordered.filter(
    ({ isDeny, principals, rule }) => isDeny && principals.everybody && openTimeOf(rule).toMs > nowMs,
  )
  const isBefore = (rule: CompiledRule) => (one: CompiledRule) => ordered.indexOf(one) < ordered.indexOf(rule)
  return [
    ...rules.map(({ rule, fromMs }) => ({
      ...ofRule(rule, warningOf(rule), blocked),
      ...deniedBy(denies.filter(isBefore(rule)), rule.actions, [headOfMatch(rule.rule.match)]),
      ...(fromMs > nowMs && { from: new Date(fromMs).toISOString() }),
    })),
    ...policy.publicStatements(bucket).map(statement => {
      const opening = openingOfStatement(bucket, statement)
      // Rules that deny come before every policy.
      return { ...opening, ...deniedBy(denies, statement.actions, opening.keys.map(headOfPattern)) }
    }),
    ...routes.map(({ id, domains, keys, except, isRestricted, showsVersions }) => ({
      source: 'distribution' as const,
      name: id,
      actions: ['read'],
      keys: withoutAll(keys),
      except: [...except],
      limited: isRestricted,
      blocked,
      domains: [...domains],
      ...(showsVersions && { versions: true as const }),
    })),
  ]
}

/** `heads`: what the keys begin with; none: every key. */
function deniedBy(
  denies: readonly CompiledRule[],
  actions: Iterable<string>,
  heads: readonly string[],
): Pick<Opening, 'deniedBy'> {
  const open = new Set(actions)
  const found = denies.filter(deny => {
    const head = headOfMatch(deny.rule.match)
    const mayMeet = heads.length === 0 || heads.some(one => one.startsWith(head) || head.startsWith(one))
    return mayMeet && [...deny.actions].some(action => open.has(action))
  })
  return found.length === 0 ? {} : { deniedBy: found.map(({ rule }) => rule.id) }
}

/** What every key that matches begins with, as far as it is plain to see. */
function headOfMatch(match: CompiledRule['rule']['match']): string {
  if (match === undefined || match.caseInsensitive === true || match.type === 'regex') return ''
  return match.type === 'prefix' ? match.pattern : headOfPattern(match.pattern)
}

const headOfPattern = (pattern: string): string => /^[^*?[\]{}\\$]*/.exec(pattern)![0]

function ofRule({ rule, actions }: CompiledRule, warning: string | undefined, blocked: boolean): Opening {
  return {
    source: 'access-rule',
    name: rule.id,
    actions: inClasses(actions),
    keys: keysOfMatch(rule.match),
    except: [],
    limited: rule.conditions !== undefined,
    blocked,
    domains: [],
    ...(warning !== undefined && { warning }),
  }
}

/** What a statement opens, of the policy of the bucket or of its access control list. */
export function openingOfStatement(
  bucket: string,
  { source, sid, index, actions, document, isBlocked }: PublicStatement,
): Opening {
  // The conditions of a list are how it says who everybody is.
  if (source === 'acl') {
    const actionNames = inClasses(actions)
    return {
      source,
      name: '',
      actions: actionNames,
      keys: [],
      except: [],
      limited: false,
      blocked: isBlocked,
      domains: [],
    }
  }
  const { prefixes, hasOthers } = conditionsOf(document)
  return {
    source: 'bucket-policy',
    name: sid === '' ? String(index) : sid,
    actions: inClasses(actions),
    keys: withoutAll(prefixes ?? resourcesOf(bucket, document)),
    except: [],
    limited: hasOthers,
    blocked: isBlocked,
    domains: [],
  }
}

/** Who may do it may do what the class is asked for. */
const meant: Readonly<Record<ActionClass, string>> = {
  read: 's3:GetObject',
  list: 's3:ListBucket',
  write: 's3:PutObject',
  delete: 's3:DeleteObject',
  tag: 's3:PutObjectTagging',
}

function inClasses(actions: Iterable<string>): string[] {
  const left = new Set(actions)
  const classes = (Object.keys(meant) as ActionClass[]).filter(name => left.has(meant[name]))
  for (const name of classes) for (const member of actionClasses[name]) left.delete(member)
  return [...classes, ...left]
}

function keysOfMatch(match: CompiledRule['rule']['match']): string[] {
  if (match === undefined || match.pattern === '') return []
  return [match.type === 'prefix' ? `${match.pattern}*` : match.pattern]
}

/** Of objects, without the bucket before them; a resource that is the bucket alone names no keys. */
function resourcesOf(bucket: string, { Resource, NotResource }: StatementDocument): readonly string[] {
  const start = `arn:aws:s3:::${bucket}/`
  // What is left out cannot be said as keys: at most everything.
  if (NotResource !== undefined) return ['*']
  return listOf(Resource).flatMap(resource => (resource.startsWith(start) ? [resource.slice(start.length)] : []))
}

/** The prefixes that a listing may ask for, where a condition names them, and whether there are other conditions. */
function conditionsOf({ Condition = {} }: StatementDocument) {
  const named = Object.entries(Condition).flatMap(([operator, keys]) =>
    Object.entries(keys).map(([key, values]) => ({ isPrefix: isPrefixCondition(operator, key), values })),
  )
  const prefixes = named.filter(({ isPrefix }) => isPrefix).flatMap(({ values }) => listOf(values).map(String))
  return { prefixes: prefixes.length === 0 ? undefined : prefixes, hasOthers: named.some(({ isPrefix }) => !isPrefix) }
}

const isPrefixCondition = (operator: string, key: string): boolean =>
  /^String(Like|Equals)$/i.test(operator) && key.toLowerCase() === 's3:prefix'

const withoutAll = (keys: readonly string[]): string[] => (keys.includes('*') ? [] : [...keys])

function listOf<Value>(value: Value | readonly Value[] | undefined): readonly Value[] {
  if (value === undefined) return []
  return Array.isArray(value) ? (value as readonly Value[]) : [value as Value]
}
