import type { Identity } from 'svc/plugins/iam/api'
import type { IdentityPolicies } from 'svc/plugins/policy/api'

export interface IdentityParts {
  readonly accessKey: string
  readonly isRoot: boolean
  readonly ownerId: string
  readonly userName: string
  readonly kind: NonNullable<Identity['kind']>
  readonly isRestricted: boolean
  readonly groups: readonly string[]
  readonly policies: IdentityPolicies
}

/** An identity with its policies: the engine gets them from the object without a lookup; they are not visible otherwise. */
export class DirectoryIdentity implements Identity {
  readonly accessKey: string
  readonly isRoot: boolean
  readonly ownerId: string
  readonly displayName: string
  readonly userName: string
  readonly kind: NonNullable<Identity['kind']>
  readonly isRestricted: boolean
  readonly groups: readonly string[]
  readonly #policies: IdentityPolicies

  constructor(parts: IdentityParts) {
    this.accessKey = parts.accessKey
    this.isRoot = parts.isRoot
    this.ownerId = parts.ownerId
    this.displayName = parts.userName
    this.userName = parts.userName
    this.kind = parts.kind
    this.isRestricted = parts.isRestricted
    this.groups = parts.groups
    this.#policies = parts.policies
    Object.freeze(this)
  }

  /** Undefined for identities that were not created here: root, and copies from another thread. */
  static policiesOf(identity: Identity): IdentityPolicies | undefined {
    return identity instanceof DirectoryIdentity ? identity.#policies : undefined
  }
}
