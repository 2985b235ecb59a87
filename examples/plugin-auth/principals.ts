/** From an entry of the directory to a principal: its name, its claims, and the policies of its groups. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { IamService, Identity } from 'svc/plugins/iam/api'
import type { AttachedPolicy, IdentityPolicies, PolicyService } from 'svc/plugins/policy/api'
import type { Entry } from './directory.ts'

export interface Principals {
  /** Reads the policies. Throws, by the name of the file, for one that is none. */
  open(): void
  make(user: string, entry: Entry): Identity
  /** Of identities that were made here; asked with every request. */
  policiesOf(identity: Identity): IdentityPolicies | undefined
}

export function createPrincipals(
  { iam, policy }: { readonly iam: Pick<IamService, 'owner'>; readonly policy: PolicyService },
  folder: string,
): Principals {
  const policies = new Map<string, AttachedPolicy>()
  const known = new WeakMap<Identity, IdentityPolicies>()
  return {
    open() {
      for (const file of filesIn(folder).filter(name => name.endsWith('.json'))) {
        const group = basename(file, '.json')
        const { policy: compiled, errors } = policy.compile(readFileSync(join(folder, file), 'utf8'), {
          kind: 'identity',
        })
        if (compiled === undefined) throw new Error(`${join(folder, file)}: ${errors[0]?.message}`)
        policies.set(group, { source: 'group-policy', name: group, group, policy: compiled })
      }
    },
    make(user, { dn, groups }) {
      // No user of the server has a slash in its name: nobody gets the rights of somebody who is called the same here.
      const name = `ldap/${user}`
      const identity: Identity = Object.freeze({
        accessKey: name,
        userName: name,
        displayName: user,
        isRoot: false,
        // The deployment is one account: everything belongs to it.
        ownerId: iam.owner.ownerId,
        // Mints no credentials: they would outlive what the directory says.
        isRestricted: true,
        groups,
        claims: { 'ldap:user': [user], 'ldap:dn': [dn], 'ldap:groups': groups },
      })
      const attached = groups.map(group => policies.get(group)).filter(found => found !== undefined)
      known.set(identity, { granted: policy.combine(attached) })
      return identity
    },
    policiesOf: identity => known.get(identity),
  }
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    throw new Error(`SVC_AUTH_LDAP_POLICY_FOLDER cannot be read: ${(error as Error).message}`)
  }
}
