/**
 * Finds the credentials and rights of an access key as of the last acknowledged change. Each result is cached with the revision of the
 * documents at which it was read (changes.ts). A request compares the current revision, a number in memory, with the cached one, and
 * reads documents only if they differ or nothing is cached. If the revision changes during `attemptsMax` reads in a row, `credentials`
 * fails with `busy`.
 *
 * Invariants:
 *
 * 1. `credentials` returns a result only if the revision was the same before and after the documents were read, so a result never mixes
 *    two states. `describe` gives no such guarantee.
 * 2. As long as no document of an access key changes and the key stays cached, `credentials` returns the same objects. A caller can keep
 *    them and compare references to detect a change.
 * 3. If a policy or group of a user cannot be read, the user has no rights at all, also none from a bucket policy (rights.ts): the
 *    document may contain a deny.
 */
import { createSecretKey } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Clock, chain, type Logger, type MaybePromise } from 'svc/kernel'
import type { Credentials, Identity } from 'svc/plugins/iam/api'
import type { PolicyService } from 'svc/plugins/policy/api'
import { type AccessKeyDocument, type Documents, only, type Stored, type UserDocument } from './documents.ts'
import { usersErrors } from './errors.ts'
import { DirectoryIdentity } from './identity.ts'
import { identityPolicies, type Rights, readLimits, readRights } from './rights.ts'

/** Access keys that a thread caches. */
const knownMax = 10_000
/** Cached names that do not exist. They have a cache of their own, so that requests with random names do not evict access keys. */
const absentMax = 4096
const attemptsMax = 64

interface Principal {
  /** The revision at which the result was last confirmed. */
  sequence: number
  readonly stamp: string
  /** Undefined if the access key does not exist or is disabled, or if its owner or its parent is missing or disabled. */
  readonly credentials: Credentials | undefined
  /** Milliseconds since 1970. Infinity if the access key does not expire. */
  readonly expiresMs: number
}

/** The documents that a principal depends on. */
interface Found {
  readonly user: Stored<UserDocument>
  readonly key: Stored<AccessKeyDocument>
  readonly owner: Stored<UserDocument>
  readonly parent: Stored<AccessKeyDocument>
  readonly rights: Rights
}

type Revision = { readonly sequence: number } | undefined

/** Before the first change there is no revision. */
function sequenceOf(revision: Revision): number {
  return revision === undefined ? 0 : revision.sequence
}

export interface PrincipalsOptions {
  readonly documents: Documents
  readonly policy: PolicyService
  readonly clock: Clock
  readonly log: Logger
  /** The root user. */
  readonly owner: Identity
}

export class Principals {
  readonly #options: PrincipalsOptions
  readonly #known = new LRUCache<string, Principal>({ max: knownMax })
  readonly #absent = new LRUCache<string, Principal>({ max: absentMax })

  constructor(options: PrincipalsOptions) {
    this.#options = options
  }

  credentials(accessKey: string): MaybePromise<Credentials | undefined> {
    const revision = this.#options.documents.revisions.get(only)
    if (!(revision instanceof Promise)) {
      const known = this.#known.get(accessKey) ?? this.#absent.get(accessKey)
      if (known !== undefined && known.sequence === sequenceOf(revision)) {
        return this.#isUsable(known) ? known.credentials : undefined
      }
    }
    return chain(this.#refresh(accessKey, revision), found => (this.#isUsable(found) ? found.credentials : undefined))
  }

  /** Returns a user and its rights, even if the user is disabled. Use the result to show rights, not to authenticate. */
  describe(name: string): MaybePromise<Identity | undefined> {
    const { documents, policy } = this.#options
    return chain(documents.users.get(name), user =>
      chain(readRights(documents, policy, user?.value), rights =>
        user === undefined ? undefined : this.#userIdentity(name, rights),
      ),
    )
  }

  /** Makes each cached result stale, so that its next use compares it with the stored documents. */
  doubt(): void {
    for (const principal of this.#known.values()) principal.sequence = -1
    this.#absent.clear()
  }

  #isUsable({ credentials, expiresMs }: Principal): boolean {
    return (
      credentials !== undefined && (expiresMs === Number.POSITIVE_INFINITY || this.#options.clock.now() < expiresMs)
    )
  }

  #refresh(accessKey: string, revision: MaybePromise<Revision>, attempt = 0): MaybePromise<Principal> {
    const { revisions } = this.#options.documents
    return chain(revision, before => {
      const sequence = sequenceOf(before)
      const known = this.#known.get(accessKey)
      if (known?.sequence === sequence) return known
      return chain(this.#find(accessKey), found =>
        chain(revisions.get(only), after => {
          if (sequenceOf(after) === sequence) return this.#remember(accessKey, sequence, found)
          if (attempt + 1 === attemptsMax) throw usersErrors.busy()
          return this.#refresh(accessKey, after, attempt + 1)
        }),
      )
    })
  }

  #find(accessKey: string): MaybePromise<Found> {
    const { documents, policy } = this.#options
    const { users, accessKeys } = documents
    return chain(users.get(accessKey), user =>
      chain(accessKeys.get(accessKey), key => {
        const ownerName = key?.value.owner?.name
        const parentKey = key?.value.parent
        return chain(ownerName === undefined ? undefined : users.get(ownerName), owner =>
          chain(parentKey === undefined ? undefined : accessKeys.get(parentKey), parent =>
            chain(readRights(documents, policy, (user ?? owner)?.value), rights => ({
              user,
              key,
              owner,
              parent,
              rights,
            })),
          ),
        )
      }),
    )
  }

  #remember(accessKey: string, sequence: number, found: Found): Principal {
    const { user, key, owner, parent, rights } = found
    const stamp = `${user?.sequence}/${key?.sequence}/${owner?.sequence}/${parent?.sequence};${rights.stamp}`
    const known = this.#known.get(accessKey)
    if (known?.stamp === stamp) {
      known.sequence = sequence
      return known
    }
    if (!rights.isComplete) {
      this.#options.log.error(
        { accessKey },
        'a policy or group of this user cannot be read: the user has no rights until it is replaced',
      )
    }
    const principal = this.#make(accessKey, sequence, stamp, found)
    this.#known.delete(accessKey)
    if (user === undefined && key === undefined) this.#absent.set(accessKey, principal)
    else this.#known.set(accessKey, principal)
    return principal
  }

  #make(accessKey: string, sequence: number, stamp: string, { user, key, owner, parent, rights }: Found): Principal {
    let identity: Identity | undefined
    let expiresMs = Number.POSITIVE_INFINITY
    if (user !== undefined) {
      if (user.value.status === 'enabled') identity = this.#userIdentity(accessKey, rights)
    } else if (key !== undefined && isAlive(key.value, owner, parent) && !this.#isReplacedByRoot(key.value)) {
      identity = this.#keyIdentity(accessKey, key.value, parent, rights)
      for (const limit of [key.value.expiresMs, parent?.value.expiresMs]) {
        if (limit !== undefined) expiresMs = Math.min(expiresMs, limit)
      }
    }
    if (identity === undefined) {
      return { sequence, stamp, credentials: undefined, expiresMs }
    }
    const { secretKey } = (user ?? key)!.value
    return {
      sequence,
      stamp,
      credentials: Object.freeze({
        identity,
        signingSecret: createSecretKey(`AWS4${secretKey}`, 'utf8'),
        verificationKey: createSecretKey(secretKey, 'utf8'),
        ...(expiresMs !== Number.POSITIVE_INFINITY && { expiresMs }),
      }),
      expiresMs,
    }
  }

  /** Whether root now has the name of the key's owner. That user then no longer exists, and its keys are invalid. */
  #isReplacedByRoot({ owner }: AccessKeyDocument): boolean {
    return owner?.name === this.#options.owner.accessKey
  }

  #userIdentity(userName: string, rights: Rights): Identity {
    const { policy, owner } = this.#options
    return new DirectoryIdentity({
      accessKey: userName,
      isRoot: false,
      ownerId: owner.ownerId,
      userName,
      kind: 'user',
      isRestricted: false,
      groups: Object.freeze([...rights.groups]),
      policies: identityPolicies(policy, rights, [], false),
    })
  }

  #keyIdentity(accessKey: string, key: AccessKeyDocument, parent: Stored<AccessKeyDocument>, rights: Rights): Identity {
    const { policy, owner } = this.#options
    const limits = readLimits(policy, key, parent)
    const isOwnedByRoot = key.owner === undefined
    return new DirectoryIdentity({
      accessKey,
      // A key of root without limits has the rights of root; a key with limits does not.
      isRoot: isOwnedByRoot && limits.length === 0,
      ownerId: owner.ownerId,
      userName: key.owner?.name ?? owner.accessKey,
      kind: key.kind,
      isRestricted: limits.length > 0,
      groups: Object.freeze([...rights.groups]),
      policies: identityPolicies(policy, rights, limits, isOwnedByRoot),
    })
  }
}

/**
 * Whether the key is enabled, and its owner and its parent (if it has them) exist, are enabled and are still the ones that it was created
 * for. The expiry is checked at each use.
 */
function isAlive(key: AccessKeyDocument, owner: Stored<UserDocument>, parent: Stored<AccessKeyDocument>): boolean {
  if (key.status !== 'enabled') return false
  if (key.owner !== undefined && (owner?.value.uid !== key.owner.uid || owner.value.status !== 'enabled')) return false
  if (key.parent === undefined) return true
  if (parent?.value.status !== 'enabled' || parent.value.uid !== key.parentUid) return false
  return parent.value.owner?.uid === key.owner?.uid
}
