/** One statement of a policy: parsed, checked and ready to be evaluated. */
import type { Identity } from 'svc/plugins/iam/api'
import { type ActionSet, readActions } from './action-set.ts'
import type { Catalogue } from './catalogue.ts'
import { type Condition, readConditions } from './condition-block.ts'
import { findConditionKey } from './condition-keys.ts'
import type { NormalizeKey } from './config.ts'
import type { PolicyKind, StatementDocument } from './document.ts'
import { readMembers, readText } from './elements.ts'
import type { JsonNode, JsonObject } from './json-reader.ts'
import { type PrincipalSet, readPrincipals } from './principal-set.ts'
import { type Problems, quote } from './problems.ts'
import { type ResourceRequest, type ResourceSet, readResources } from './resource-set.ts'

export interface StatementRequest extends ResourceRequest {
  readonly identity: Identity | undefined
}

export interface Statement {
  /** Index in the document, from 0. */
  readonly index: number
  readonly sid: string
  readonly effect: 'Allow' | 'Deny'
  /** Line in the compiled document at which it begins, from 1. */
  readonly line: number
  readonly column: number
  readonly actions: ActionSet
  /** Undefined in policies that are attached to their principals. */
  readonly principals: PrincipalSet | undefined
  /** Undefined if the statement applies to all resources. */
  readonly resources: ResourceSet | undefined
  readonly conditions: readonly Condition[]
  /** Allows something to everybody, from any address. */
  readonly isPublic: boolean
  /** Condition keys that it uses, also in variables; lower case. */
  readonly keys: readonly string[]
  readonly document: StatementDocument
}

export const elementNames = [
  'Sid',
  'Effect',
  'Principal',
  'NotPrincipal',
  'Action',
  'NotAction',
  'Resource',
  'NotResource',
  'Condition',
] as const

export interface StatementOptions {
  readonly kind: PolicyKind
  readonly bucket: string | undefined
  readonly variables: boolean
  readonly catalogue: Catalogue
  readonly normalizeKey: NormalizeKey
}

type Members = ReadonlyMap<(typeof elementNames)[number], JsonNode>

/** Parses a statement. After an error was reported, the result serves only to find further errors. */
export function readStatement(
  node: JsonObject,
  index: number,
  options: StatementOptions,
  problems: Problems,
): Omit<Statement, 'document' | 'keys'> {
  const { kind, catalogue, variables, bucket, normalizeKey } = options
  const sidNode = node.members.find(({ key }) => key === 'Sid')?.value
  problems.sid = sidNode?.kind === 'string' ? sidNode.value : undefined
  const members = readMembers(node, elementNames, 'A statement', problems)
  const sid = sidNode === undefined ? '' : (readText(sidNode, 'Sid', problems) ?? '')
  const effect = readEffect(members.get('Effect'), node, problems)

  const principals = readPrincipalElements(members, node, kind, effect, problems)
  const actionsNode = oneOf(members, 'Action', 'NotAction', node, true, problems)
  const actions = actionsNode && readActions(actionsNode.node, actionsNode.name, catalogue, problems)
  const isInert =
    actions !== undefined && !actions.isNegated && actions.named.every(({ entries }) => entries.size === 0)
  const needsResource = kind === 'bucket' || !isAdministrative(actions)
  const resourceNode = oneOf(members, 'Resource', 'NotResource', node, needsResource, problems)
  const resources =
    resourceNode &&
    readResources(resourceNode.node, resourceNode.name, { variables, bucket, isInert, normalizeKey }, problems)
  const conditionNode = members.get('Condition')
  const conditions =
    conditionNode === undefined ? [] : readConditions(conditionNode, { variables, normalizeKey }, problems)

  if (actions !== undefined && !actions.isNegated) {
    if (kind === 'bucket') checkBucketActions(actions, problems)
    if (resources !== undefined) checkReach(actions, resources, kind, problems)
    if (conditionNode !== undefined) checkConditionKeys(actions, conditions, conditionNode, problems)
  }
  const isPublic = effect === 'Allow' && principals?.isEverybody === true && !conditions.some(item => item.isNarrowing)
  if (isPublic) problems.warn(node.at, 'Principal', 'Everybody is allowed this, anonymous callers among them.')
  const { line, column } = problems.place(node.at)
  return { index, sid, effect, line, column, actions: actions!, principals, resources, conditions, isPublic }
}

/** Condition keys and variables of a valid statement. */
export function keysOf(conditions: readonly Condition[], document: StatementDocument): readonly string[] {
  const keys = new Set(conditions.map(({ key }) => key))
  for (const [, key] of JSON.stringify(document).matchAll(/\$\{([^,}' ]{2,})/g)) keys.add(key.toLowerCase())
  return [...keys]
}

function readEffect(node: JsonNode | undefined, statement: JsonObject, problems: Problems): 'Allow' | 'Deny' {
  if (node === undefined) {
    problems.error(statement.at, 'Effect', 'The statement has no Effect.')
    return 'Deny'
  }
  const text = readText(node, 'Effect', problems)
  if (text !== undefined && text !== 'Allow' && text !== 'Deny') {
    problems.error(node.at, 'Effect', `Effect is "Allow" or "Deny", not ${quote(text)}.`)
  }
  return text === 'Allow' ? 'Allow' : 'Deny'
}

function readPrincipalElements(
  members: Members,
  statement: JsonObject,
  kind: PolicyKind,
  effect: Statement['effect'],
  problems: Problems,
): PrincipalSet | undefined {
  if (kind !== 'bucket') {
    for (const name of ['Principal', 'NotPrincipal'] as const) {
      const node = members.get(name)
      if (node !== undefined) {
        problems.error(
          node.at,
          name,
          `${name} stands in bucket policies only: this policy is for whom it is attached to.`,
        )
      }
    }
    return undefined
  }
  const found = oneOf(members, 'Principal', 'NotPrincipal', statement, true, problems)
  if (found === undefined) return undefined
  if (found.name === 'NotPrincipal' && effect === 'Allow') {
    problems.error(found.node.at, found.name, 'NotPrincipal stands with the effect "Deny" only.')
  }
  return readPrincipals(found.node, found.name, problems)
}

function oneOf<Plain extends 'Principal' | 'Action' | 'Resource'>(
  members: Members,
  plain: Plain,
  negated: `Not${Plain}`,
  statement: JsonObject,
  isNeeded: boolean,
  problems: Problems,
): { readonly name: Plain | `Not${Plain}`; readonly node: JsonNode } | undefined {
  const node = members.get(plain)
  const negatedNode = members.get(negated)
  if (node !== undefined && negatedNode !== undefined) {
    problems.error(negatedNode.at, negated, `The statement has both ${plain} and ${negated}.`)
  }
  if (node !== undefined) return { name: plain, node }
  if (negatedNode !== undefined) return { name: negated, node: negatedNode }
  if (isNeeded) problems.error(statement.at, plain, `The statement has neither ${plain} nor ${negated}.`)
  return undefined
}

/** Whether it has only actions on the server, or names without an effect: then it needs no resource. */
function isAdministrative(actions: ActionSet | undefined): boolean {
  if (actions === undefined) return true
  if (actions.isNegated) return false
  return actions.named.every(({ text, entries }) => text !== '*' && [...entries].every(({ isS3 }) => !isS3))
}

/** A bucket's policy applies only to requests for the bucket. */
function checkBucketActions({ named }: ActionSet, problems: Problems): void {
  for (const { text, at, entries } of named) {
    const isOurs = ({ isS3, action }: { isS3: boolean; action: { level: string } }) =>
      isS3 && action.level !== 'account'
    if (entries.size > 0 && ![...entries].some(isOurs)) {
      problems.error(at, 'Action', `${quote(text)} cannot be granted or denied by a bucket.`)
    }
  }
}

function checkReach(actions: ActionSet, resources: ResourceSet, kind: PolicyKind, problems: Problems): void {
  if (resources.isNegated || resources.list.length === 0) return
  for (const { text, at, entries } of actions.named) {
    if (entries.size === 0) continue
    const levels = [...entries]
    if (levels.some(entry => resources.list.some(resource => resource.couldCover(entry)))) continue
    const message = `${quote(text)} is done to none of the resources of this statement.${resourceHint(levels)}`
    if (kind === 'bucket') problems.error(at, 'Action', message)
    else problems.warn(at, 'Action', message)
  }
}

/** Which resource such actions need, as a sentence after a space; empty where they need different ones. */
function resourceHint(entries: readonly { readonly action: { readonly level: string } }[]): string {
  const of = (level: string) => entries.every(({ action }) => action.level === level)
  if (of('bucket')) return ' It needs a bucket, as "arn:aws:s3:::example".'
  return of('object') ? ' It needs objects, as "arn:aws:s3:::example/*".' : ''
}

function checkConditionKeys(
  actions: ActionSet,
  conditions: readonly Condition[],
  node: JsonNode,
  problems: Problems,
): void {
  const names = new Set(actions.named.flatMap(({ entries }) => [...entries].map(({ name }) => name)))
  for (const { key, keyName, operatorName } of conditions) {
    const carriers = findConditionKey(key)?.actions
    if (carriers === undefined || names.size === 0 || [...names].some(name => carriers.has(name))) continue
    problems.warn(
      node.at,
      `Condition.${operatorName}.${keyName.slice(0, 80)}`,
      `${quote(keyName)} is never present on the actions of this statement.`,
    )
  }
}
