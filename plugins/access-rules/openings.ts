/** Everything that opens a bucket to callers without credentials, whoever decides: rules, statements, lists, distributions. */
import type { PolicyService, PublicStatement, StatementDocument } from 'svc/plugins/policy/api'
import type { CompiledRule } from './compiled-rule.ts'
import type { PublicRoute } from './points.ts'
import { type ActionClass, actionClasses } from './rule.ts'

export interface Opening {
  source: 'access-rule' | 'bucket-policy' | 'acl' | 'distribution'
  /** The id of the rule or of the distribution; of a statement its Sid, else its index; empty of the list. */
  name: string
  /** Classes of actions, then single actions that are of none of these. */
  actions: string[]
  /** Patterns of keys; empty: every key. */
  keys: string[]
  /** Of a distribution: patterns of keys among them that it does not show to everybody. */
  except: string[]
  /** Conditions, or restrictions of the distribution, have to hold as well. */
  limited: boolean
  /** Without effect, because public access is blocked. */
  blocked: boolean
  /** Of a distribution. */
  domains: string[]
}

export interface OpeningsOptions {
  readonly policy: Pick<PolicyService, 'publicStatements'>
  /** Those that are in force. */
  readonly rules: readonly CompiledRule[]
  readonly routes: readonly PublicRoute[]
  readonly isPublicBlocked: boolean
}

export function openingsOf(
  bucket: string,
  { policy, rules, routes, isPublicBlocked: blocked }: OpeningsOptions,
): Opening[] {
  return [
    ...rules.map(({ rule, actions }) => ({
      source: 'access-rule' as const,
      name: rule.id,
      actions: inClasses(actions),
      keys: keysOfMatch(rule.match),
      except: [],
      limited: rule.conditions !== undefined,
      blocked,
      domains: [],
    })),
    ...policy.publicStatements(bucket).map(statement => ofStatement(bucket, statement)),
    ...routes.map(({ id, domains, keys, except, isRestricted }) => ({
      source: 'distribution' as const,
      name: id,
      actions: ['read'],
      keys: withoutAll(keys),
      except: [...except],
      limited: isRestricted,
      blocked,
      domains: [...domains],
    })),
  ]
}

function ofStatement(bucket: string, { source, sid, index, actions, document, isBlocked }: PublicStatement): Opening {
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
