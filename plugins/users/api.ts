/**
 * Users, groups, named policies and access keys. Changes are made one after the other, over all threads, and hold for the next
 * request in every thread. Nothing here decides whether the caller may do it, except where the rule is about whose access key
 * it is. What goes wrong is `usersErrors`. Times are milliseconds since 1970, names are sorted.
 */

import type { MaybePromise } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import type { PolicyDocument } from 'svc/plugins/policy/api'
import type { AccessKeyDocument, GroupDocument, UserDocument } from './documents.ts'

export { noUser, usersErrors } from './errors.ts'

export type Status = 'enabled' | 'disabled'

export interface User {
  readonly accessKey: string
  readonly status: Status
  readonly description: string
  readonly groups: readonly string[]
  /** Attached to the user itself. */
  readonly policyNames: readonly string[]
  /** And those of enabled groups. */
  readonly effectivePolicyNames: readonly string[]
  /** Without shares. */
  readonly accessKeyCount: number
  readonly createdMs: number
  readonly updatedMs: number
}

export interface NewUser {
  /** 3 to 128 of `A-Z a-z 0-9 . _ @ + = -`; no user, access key or root has it. */
  readonly accessKey: string
  /** 8 to 128 printable ASCII characters without spaces. Absent: 40 are made. */
  readonly secretKey?: string
  readonly status?: Status
  /** At most 256 characters. */
  readonly description?: string
  readonly groups?: readonly string[]
  readonly policyNames?: readonly string[]
}

export interface Group {
  readonly name: string
  readonly status: Status
  readonly description: string
  readonly members: readonly string[]
  readonly policyNames: readonly string[]
  readonly createdMs: number
  readonly updatedMs: number
}

export interface NewGroup {
  /** 1 to 128 of the characters of access keys. */
  readonly name: string
  readonly description?: string
  readonly members?: readonly string[]
}

export interface NamedPolicy {
  readonly name: string
  readonly document: PolicyDocument
  readonly builtIn: boolean
  /** Of the document; 32 hexadecimal digits. */
  readonly etag: string
  /** 0 for built-in ones. */
  readonly updatedMs: number
}

export interface AttachedTo {
  readonly users: readonly string[]
  readonly groups: readonly string[]
}

/** The object that a share opens. */
export interface ShareTarget {
  readonly bucket: string
  readonly key: string
  readonly versionId?: string
}

export interface AccessKey {
  readonly accessKey: string
  /** The user whose rights it has; root's name for root. */
  readonly user: string
  readonly kind: 'access-key' | 'share'
  readonly name: string
  readonly description: string
  readonly status: Status
  readonly state: 'active' | 'disabled' | 'expired'
  readonly expiresMs: number | undefined
  /** Embedded: what the owner may and this allows, too. */
  readonly policy: PolicyDocument | undefined
  readonly share: ShareTarget | undefined
  readonly createdBy: string
  readonly createdMs: number
  readonly updatedMs: number
  /** In the hour that begins then; undefined: never, or before it was counted. */
  readonly lastUsedMs: number | undefined
}

/** A link to one object, by the credentials that sign it. */
export interface Share extends Omit<AccessKey, 'kind' | 'state' | 'share'> {
  readonly share: ShareTarget
  readonly state: ShareState
  readonly revokedMs: number | undefined
}

export type ShareState = 'active' | 'revoked' | 'expired'

export interface NewAccessKey {
  /** Default: the caller's user. */
  readonly user?: string
  /** Absent: 20 upper-case letters and digits are made. */
  readonly accessKey?: string
  readonly secretKey?: string
  /** At most 64 characters. */
  readonly name?: string
  readonly description?: string
  /** In the future. */
  readonly expiresMs?: number
  /** An object or JSON text of at most 20 KiB, without principals. */
  readonly policy?: string | object
  /** Makes the credentials of a share: for presigned GET and HEAD of this object, and nothing else. */
  readonly share?: ShareTarget
}

/** What is absent stays; null clears. */
export interface AccessKeyChange {
  readonly name?: string | null
  readonly description?: string | null
  readonly status?: Status
  readonly expiresMs?: number | null
  readonly policy?: string | object | null
}

/** Who asks. */
export interface Caller {
  readonly identity: Identity
  /** Whether a policy allows an action (`admin:CreateServiceAccount`) in this request. Root may everything. */
  isAllowed(action: string): boolean
}

export interface PageRequest {
  readonly prefix?: string
  /** `next` of the page before. */
  readonly startAfter?: string
  /** 1 to 1000, the default. */
  readonly limit?: number
}

export interface Page<T> {
  readonly items: readonly T[]
  /** Undefined on the last page. */
  readonly next: string | undefined
}

export interface SecretPair {
  readonly accessKey: string
  readonly secretKey: string
}

export interface SessionRequest {
  /** 900 to 43200. */
  readonly durationSeconds: number
  /** 2 to 64 of `\w + = , . @ -`. */
  readonly sessionName: string
  /** JSON text of at most 2048 characters: limits the session. */
  readonly policy?: string
}

export interface NewSession extends SecretPair {
  readonly sessionToken: string
  readonly expiresMs: number
}

/** By name. Secrets are plain. */
export interface Directory {
  readonly users: ReadonlyMap<string, UserDocument>
  readonly groups: ReadonlyMap<string, GroupDocument>
  /** The documents of named policies, without those that are built in. */
  readonly policies: ReadonlyMap<string, object>
  readonly accessKeys: ReadonlyMap<string, AccessKeyDocument>
}

export interface DirectoryImportOptions {
  readonly mode: 'merge' | 'replace'
  /** Checks, and stores nothing. */
  readonly isDryRun?: boolean
  /** Ends it by what it throws. */
  beforeCommit?(): MaybePromise<void>
}

export interface DirectoryImport {
  /** What was new or different: `user/ann`, `group/staff`, `policy/readers`, `access-key/AK1`. */
  readonly changed: readonly string[]
  readonly removed: readonly string[]
}

export interface UsersService {
  listUsers(
    request?: PageRequest & { readonly group?: string; readonly policy?: string; readonly status?: Status },
  ): Promise<Page<User>>
  /** Rejects with `user_not_found`. */
  getUser(name: string): Promise<User>
  /** `secretKey` only where it was made. `already_exists`, `group_not_found`, `policy_not_found`. */
  createUser(user: NewUser): Promise<{ readonly user: User; readonly secretKey: string | undefined }>
  updateUser(name: string, change: { readonly status?: Status; readonly description?: string | null }): Promise<User>
  /** Its access keys and shares go with it. `conflict` for the caller itself. */
  deleteUser(name: string, caller: Identity): Promise<void>
  /** Resolves with the secret where it was made. */
  setUserSecretKey(name: string, secretKey?: string): Promise<string | undefined>
  /** A user's own, with its current secret. `conflict` for root, `access_denied` for access keys and a wrong secret. */
  changeOwnSecretKey(caller: Identity, currentSecretKey: string, newSecretKey: string): Promise<void>
  /** The whole set. */
  setUserGroups(name: string, groups: readonly string[]): Promise<User>

  listGroups(request?: PageRequest & { readonly policy?: string }): Promise<Page<Group>>
  getGroup(name: string): Promise<Group>
  createGroup(group: NewGroup): Promise<Group>
  updateGroup(name: string, change: { readonly status?: Status; readonly description?: string | null }): Promise<Group>
  /** `group_not_empty`. */
  deleteGroup(name: string): Promise<void>
  /** All or nothing; at most 998 at once. */
  addGroupMembers(name: string, members: readonly string[]): Promise<Group>
  /** Also for users that are no member, or none at all. */
  removeGroupMember(name: string, member: string): Promise<void>

  /** Built-in ones, too. */
  listPolicies(request?: PageRequest): Promise<Page<NamedPolicy>>
  getPolicy(name: string): Promise<NamedPolicy & { readonly attachedTo: AttachedTo }>
  /** `malformed_policy` with `errors` as cause, `builtin_policy`, `precondition_failed`. */
  putPolicy(
    name: string,
    document: string | object,
    options?: { readonly ifMatch?: string },
  ): Promise<{ readonly policy: NamedPolicy; readonly isNew: boolean }>
  /** `policy_in_use`, `builtin_policy`, `precondition_failed`. */
  deletePolicy(name: string, options?: { readonly ifMatch?: string }): Promise<void>
  /** Exactly one of `user` and `group`. Resolves with the names that are then attached. */
  attachPolicies(to: { readonly user?: string; readonly group?: string }, names: readonly string[]): Promise<string[]>
  detachPolicies(from: { readonly user?: string; readonly group?: string }, names: readonly string[]): Promise<string[]>

  /** Of `user`, by default the caller's; without shares. Of others: `admin:ListServiceAccounts`. */
  listAccessKeys(
    caller: Caller,
    request?: PageRequest & { readonly user?: string; readonly status?: Status },
  ): Promise<Page<AccessKey>>
  getAccessKey(caller: Caller, accessKey: string): Promise<AccessKey>
  /** The only time, beside `rotateAccessKey`, that the secret is shown. */
  createAccessKey(caller: Caller, key: NewAccessKey): Promise<{ readonly key: AccessKey; readonly secretKey: string }>
  updateAccessKey(caller: Caller, accessKey: string, change: AccessKeyChange): Promise<AccessKey>
  deleteAccessKey(caller: Caller, accessKey: string): Promise<void>
  rotateAccessKey(caller: Caller, accessKey: string, secretKey?: string): Promise<SecretPair>

  /**
   * Of the caller's user; of `user`, and of everybody with `isAll`, with `admin:ListServiceAccounts`. A caller with a part of its user's
   * rights sees those that it made. What is over stays for a day, and no more of it than may be active.
   */
  listShares(
    caller: Caller,
    request?: PageRequest & {
      readonly user?: string
      readonly isAll?: boolean
      readonly bucket?: string
      readonly state?: ShareState
    },
  ): Promise<Page<Share>>
  /** From then on no thread accepts it. Also for what is revoked already. Of others: `admin:RemoveServiceAccount`. */
  revokeShare(caller: Caller, id: string): Promise<void>
  /** Removes what is over for longer than a day. Resolves with the number. */
  removeOldShares(): Promise<number>

  /** Everybody, as of one moment, **secrets among it**; without share links that were revoked. */
  exportDirectory(): Promise<Directory>
  /**
   * Takes over what an export gave, here or elsewhere; checked whole before anything is stored. `merge` keeps what it does not have,
   * `replace` removes it. May be repeated when it was interrupted. Rejects with `invalid_argument`, whose cause lists all problems.
   */
  importDirectory(directory: Directory, options: DirectoryImportOptions): Promise<DirectoryImport>

  /**
   * Somebody's identity for the engine: what a user may, be it enabled or not. Never to let it in. Root's name gives root.
   * Undefined: no such user.
   */
  describeIdentity(user: string): MaybePromise<Identity | undefined>
  /** Temporary credentials with at most the caller's rights. Nothing is stored. `access_denied` for shares and sessions. */
  createSession(caller: Identity, request: SessionRequest): Promise<NewSession>
}

declare module 'svc/kernel' {
  interface Services {
    users: UsersService
  }
}
