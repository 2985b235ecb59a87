/** Policies for tests: compiled or refused, alone or as the answer of a source. */
import assert from 'node:assert/strict'
import type { Identity } from 'svc/plugins/iam/api'
import type { AccessRequest, AttachedSource, CompiledPolicy, PolicyKind, RequestPolicies } from '../api.ts'
import { createPolicy } from '../policy.ts'

export const policy = createPolicy()

export const root: Identity = { accessKey: 'root', isRoot: true, ownerId: 'a'.repeat(64), displayName: 'root' }
export const ada: Identity = {
  accessKey: 'ADAKEY',
  userName: 'ada',
  kind: 'access-key',
  groups: ['staff', 'math'],
  claims: { 'jwt:team': ['blue'] },
  isRoot: false,
  ownerId: 'b'.repeat(64),
  displayName: 'ada',
}
export const bob: Identity = { accessKey: 'bob', isRoot: false, ownerId: 'c'.repeat(64), displayName: 'bob' }

export type StatementText = Record<string, unknown>

/** Compiles a policy that must be valid. Effect is Allow, and the resource everything, unless the statement has others. */
export function compiled(
  statements: StatementText | readonly StatementText[],
  kind: PolicyKind = 'identity',
  bucket?: string,
  Version = '2012-10-17',
): CompiledPolicy {
  const list = [statements].flat().map(statement => {
    const resource = 'NotResource' in statement || 'Resource' in statement ? {} : { Resource: '*' }
    return { Effect: 'Allow', ...resource, ...statement }
  })
  const result = policy.compile({ Version, Statement: list }, { kind, bucket })
  assert.ok(result.policy, JSON.stringify(result.errors))
  return result.policy
}

export function setOf(statements: StatementText | readonly StatementText[], source: AttachedSource = 'policy') {
  if (Array.isArray(statements) && statements.length === 0) return policy.combine([])
  return policy.combine([{ policy: compiled(statements), source, name: 'test' }])
}

export function bucketOf(statements: StatementText | readonly StatementText[], blockPublicAccess = false) {
  const list = [statements].flat().map(statement => ({
    Principal: '*',
    Resource: ['arn:aws:s3:::photos', 'arn:aws:s3:::photos/*'],
    ...statement,
  }))
  const policies = policy.combine([{ policy: compiled(list, 'bucket', 'photos'), source: 'bucket-policy' }])
  return { policies, blockPublicAccess }
}

/** May ada read photos/cat.jpg? */
export const readingCat: AccessRequest = { identity: ada, action: 's3:GetObject', bucket: 'photos', key: 'cat.jpg' }

/** The decision of the engine; its simulation must agree. */
export function decision(request: AccessRequest, policies: RequestPolicies): boolean {
  const allowed = policy.evaluate(request, policies)
  const simulation = policy.simulate(request, policies)
  assert.equal(simulation.allowed, allowed, `simulated otherwise: ${simulation.reason}`)
  assert.equal(simulation.decision === 'allow', allowed)
  return allowed
}

/** Whether a single Allow statement with these conditions allows the request. */
export function holds(
  conditions: Record<string, Record<string, unknown>>,
  values: Record<string, readonly string[]>,
  request: AccessRequest = readingCat,
): boolean {
  const granted = setOf({ Action: '*', Condition: conditions })
  return decision({ ...request, conditions: () => values }, { identity: { granted } })
}
