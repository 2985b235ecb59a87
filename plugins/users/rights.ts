/** The rights of an identity from the stored documents: policies of users and their groups, and the limits of access keys. */

import { chain, type MaybePromise } from 'svc/kernel'
import type { AttachedPolicy, IdentityPolicies, PolicyService, PolicySet } from 'svc/plugins/policy/api'
import type { AccessKeyDocument, Documents, Stored, UserDocument } from './documents.ts'

export interface Rights {
  readonly attached: readonly AttachedPolicy[]
  /** Names of the enabled groups. */
  readonly groups: readonly string[]
  /** False if an attached policy or group is missing or cannot be read. It may have denied something, so the user then has no rights. */
  readonly isComplete: boolean
  /** The ids and versions of all documents that were read. */
  readonly stamp: string
}

const nobodysRights: Rights = Object.freeze({ attached: [], groups: [], isComplete: true, stamp: '' })

/** Returns the rights of a stored user. Without a user there are no rights. */
export function readRights(
  documents: Documents,
  policy: PolicyService,
  user: UserDocument | undefined,
): MaybePromise<Rights> {
  if (user === undefined) return nobodysRights
  const groups = all(user.groups.map(name => documents.groups.get(name)))
  return chain(groups, groups => {
    let isComplete = true
    let stamp = ''
    const wanted: { readonly name: string; readonly group: string | undefined }[] = []
    for (const name of user.policyNames) wanted.push({ name, group: undefined })
    const enabled: string[] = []
    for (const [i, group] of groups.entries()) {
      const name = user.groups[i]!
      stamp += `g:${name}@${group?.sequence};`
      if (group === undefined) isComplete = false
      if (group?.value.status !== 'enabled') continue
      enabled.push(name)
      for (const policyName of group.value.policyNames) wanted.push({ name: policyName, group: name })
    }
    return chain(all(wanted.map(({ name }) => readPolicy(documents, policy, name))), found => {
      const attached: AttachedPolicy[] = []
      for (const [i, item] of found.entries()) {
        const { name, group } = wanted[i]!
        stamp += `p:${name}@${item.sequence};`
        if (item.policy === undefined) isComplete = false
        else if (group === undefined) attached.push({ policy: item.policy, source: 'policy', name })
        else attached.push({ policy: item.policy, source: 'group-policy', name, group })
      }
      return { attached, groups: enabled, isComplete, stamp }
    })
  })
}

interface FoundPolicy {
  readonly policy: AttachedPolicy['policy'] | undefined
  readonly sequence: number | undefined
}

export function readPolicy(
  { policies, compiledPolicies }: Documents,
  policy: PolicyService,
  name: string,
): MaybePromise<FoundPolicy> {
  const builtIn = policy.builtIn().get(name)
  if (builtIn !== undefined) return { policy: builtIn, sequence: 0 }
  return chain(policies.get(name), stored =>
    chain(compiledPolicies.get(name), compiled => ({ policy: compiled, sequence: stored?.sequence })),
  )
}

/** The limits of an access key: its embedded policy and, for a share, its object. */
export function readLimits(
  policy: PolicyService,
  key: AccessKeyDocument,
  parent: Stored<AccessKeyDocument>,
): PolicySet[] {
  const limits: PolicySet[] = []
  for (const document of [key.policy, parent?.value.policy]) {
    if (document !== undefined) limits.push(embedded(policy, document))
  }
  if (key.kind === 'share') limits.push(embedded(policy, sharePolicy(key)))
  return limits
}

/** A set with this policy only. A policy that cannot be compiled (any more) allows nothing. */
export function embedded(policy: PolicyService, document: object | string): PolicySet {
  const { policy: compiled } = policy.compile(document, { kind: 'session' })
  return policy.combine(compiled === undefined ? [] : [{ policy: compiled, source: 'embedded-policy' }])
}

/** Escapes the characters that are special in a pattern. */
const literal = (text: string): string => text.replace(/[*?$]/g, character => `\${${character}}`)

/** Allows one object by its exact name. */
function sharePolicy({ share }: AccessKeyDocument): object {
  if (share === undefined) return { Version: '2012-10-17', Statement: [{ Effect: 'Deny', Action: '*', Resource: '*' }] }
  const key = literal(share.key)
  return {
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Action: share.versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion',
        Resource: `arn:aws:s3:::${share.bucket}/${key}`,
        ...(share.versionId === undefined
          ? {}
          : { Condition: { StringEquals: { 's3:versionid': literal(share.versionId) } } }),
      },
    ],
  }
}

export function identityPolicies(
  policy: PolicyService,
  rights: Rights,
  limits: readonly PolicySet[],
  isOwnedByRoot: boolean,
): IdentityPolicies {
  // A limit that allows nothing also overrides the bucket's policy.
  const nothing = policy.combine([])
  return Object.freeze({
    granted: rights.isComplete ? policy.combine(rights.attached) : nothing,
    limits: rights.isComplete ? limits : [...limits, nothing],
    isOwnedByRoot,
  })
}

function all<T>(values: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> {
  return values.some(value => value instanceof Promise) ? Promise.all(values) : (values as readonly T[])
}
