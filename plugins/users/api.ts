/**
 * Users, groups, named policies and access keys. Changes are made one after the other, over all threads, and apply to the next request in
 * every thread. The service does not check whether the caller is allowed to do an operation, except for rules about the owner of an access
 * key. Errors are `usersErrors`. Times are milliseconds since 1970, names are sorted.
 */

import type { MaybePromise } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import type { PolicyDocument } from 'svc/plugins/policy/api'
import type { AccessKeyDocument, GroupDocument, UserDocument } from './documents.ts'

export { noUser, usersErrors } from './errors.ts'
export { sharePrefix } from './names.ts'

export type Status = 'enabled' | 'disabled'

export interface User {
  readonly accessKey: string
  readonly status: Status
  readonly description: string
  readonly groups: readonly string[]
  /** Policies that are attached to the user itself. */
  readonly policyNames: readonly string[]
  /** With the policies of its enabled groups. */
  readonly effectivePolicyNames: readonly string[]
  /** Number of access keys, without shares. */
  readonly accessKeyCount: number
  readonly createdMs: number
  readonly updatedMs: number
}

export interface NewUser {
  /** 3 to 128 of `A-Z a-z 0-9 . _ @ + = -`; not the name of another user, an access key or root. */
  readonly accessKey: string
  /** 8 to 128 printable ASCII characters without spaces. Absent: one of 40 characters is generated. */
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
  /** ETag of the document: 32 hexadecimal digits. */
  readonly etag: string
  /** 0 for built-in policies. */
  readonly updatedMs: number
}

export interface AttachedTo {
  readonly users: readonly string[]
  readonly groups: readonly string[]
}

/** The object that a share gives access to. */
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
  /** The embedded policy: a request needs its permission in addition to that of the owner. */
  readonly policy: PolicyDocument | undefined
  readonly share: ShareTarget | undefined
  readonly createdBy: string
  readonly createdMs: number
  readonly updatedMs: number
  /** Changes with each change of the key, and not with its use. */
  readonly etag: string
  /** Start of the hour of the last use; undefined if never used, or before uses were recorded. */
  readonly lastUsedMs: number | undefined
}

/** A link to one object, identified by the credentials that sign it. */
export interface Share extends Omit<AccessKey, 'kind' | 'state' | 'share'> {
  readonly share: ShareTarget
  readonly state: ShareState
  readonly revokedMs: number | undefined
}

export type ShareState = 'active' | 'revoked' | 'expired'

export interface NewAccessKey {
  /** Default: the caller's user. */
  readonly user?: string
  /** Absent: 20 upper-case letters and digits are generated. */
  readonly accessKey?: string
  readonly secretKey?: string
  /** At most 64 characters. */
  readonly name?: string
  readonly description?: string
  /** Must be in the future. */
  readonly expiresMs?: number
  /** An object or JSON text of at most 20 KiB, without principals. */
  readonly policy?: string | object
  /** Creates the credentials of a share: for presigned GET and HEAD of this object only. */
  readonly share?: ShareTarget
}

/** Absent fields stay unchanged; null clears a field. */
export interface AccessKeyChange {
  readonly name?: string | null
  readonly description?: string | null
  readonly status?: Status
  readonly expiresMs?: number | null
  readonly policy?: string | object | null
  /** The ETag that the key must have; else `precondition_failed`. */
  readonly ifMatch?: string | undefined
}

/** The caller of an operation. */
export interface Caller {
  readonly identity: Identity
  /** Whether a policy allows an action (`admin:CreateServiceAccount`) in this request. Always true for root. */
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

/** Maps by name. Secrets are in plain text. */
export interface Directory {
  readonly users: ReadonlyMap<string, UserDocument>
  readonly groups: ReadonlyMap<string, GroupDocument>
  /** The documents of named policies, without built-in ones. */
  readonly policies: ReadonlyMap<string, object>
  readonly accessKeys: ReadonlyMap<string, AccessKeyDocument>
}

export interface DirectoryImportOptions {
  readonly mode: 'merge' | 'replace'
  /** Only checks, and stores nothing. */
  readonly isDryRun?: boolean
  /** Called before each commit; an error that it throws ends the import. */
  beforeCommit?(): MaybePromise<void>
}

export interface DirectoryImport {
  /** The names of new documents: `user/ann`, `group/staff`, `policy/readers`, `access-key/AK1`. */
  readonly created: readonly string[]
  /** Like `created`, for existing ones that changed. */
  readonly changed: readonly string[]
  /** The names of their fields that differ, without values. */
  readonly fields: ReadonlyMap<string, readonly string[]>
  readonly removed: readonly string[]
}

export interface UsersService {
  listUsers(
    request?: PageRequest & { readonly group?: string; readonly policy?: string; readonly status?: Status },
  ): Promise<Page<User>>
  /** Rejects with `user_not_found`. */
  getUser(name: string): Promise<User>
  /** `secretKey` only if the server generated it. `already_exists`, `group_not_found`, `policy_not_found`. */
  createUser(user: NewUser): Promise<{ readonly user: User; readonly secretKey: string | undefined }>
  updateUser(name: string, change: { readonly status?: Status; readonly description?: string | null }): Promise<User>
  /** Also deletes its access keys and shares. `conflict` for the caller's own user. */
  deleteUser(name: string, caller: Identity): Promise<void>
  /** Resolves with the secret if the server generated it. */
  setUserSecretKey(name: string, secretKey?: string): Promise<string | undefined>
  /**
   * Changes the secret of the calling user, who must give the current one. `conflict` for root, `access_denied` for access keys and a wrong
   * secret.
   */
  changeOwnSecretKey(caller: Identity, currentSecretKey: string, newSecretKey: string): Promise<void>
  /** Replaces the set of groups. */
  setUserGroups(name: string, groups: readonly string[]): Promise<User>

  listGroups(request?: PageRequest & { readonly policy?: string }): Promise<Page<Group>>
  getGroup(name: string): Promise<Group>
  createGroup(group: NewGroup): Promise<Group>
  updateGroup(name: string, change: { readonly status?: Status; readonly description?: string | null }): Promise<Group>
  /** Rejects with `group_not_empty`. */
  deleteGroup(name: string): Promise<void>
  /** All or none; at most 998 at once. */
  addGroupMembers(name: string, members: readonly string[]): Promise<Group>
  /** Also accepts users that are not members, or do not exist. */
  removeGroupMember(name: string, member: string): Promise<void>

  /** Includes built-in policies. */
  listPolicies(request?: PageRequest): Promise<Page<NamedPolicy>>
  /** Who has each of these policies. Reads all users and groups, once. */
  attachments(names: readonly string[]): Promise<ReadonlyMap<string, AttachedTo>>
  getPolicy(name: string): Promise<NamedPolicy & { readonly attachedTo: AttachedTo }>
  /** `malformed_policy` with `errors` as cause, `builtin_policy`, `precondition_failed`. */
  putPolicy(
    name: string,
    document: string | object,
    options?: { readonly ifMatch?: string; readonly ifNoneMatch?: '*' },
  ): Promise<{ readonly policy: NamedPolicy; readonly isNew: boolean }>
  /** `policy_in_use`, `builtin_policy`, `precondition_failed`. */
  deletePolicy(name: string, options?: { readonly ifMatch?: string }): Promise<void>
  /** Exactly one of `user` and `group`. Resolves with the names of all policies that are then attached. */
  attachPolicies(to: { readonly user?: string; readonly group?: string }, names: readonly string[]): Promise<string[]>
  detachPolicies(from: { readonly user?: string; readonly group?: string }, names: readonly string[]): Promise<string[]>

  /** Access keys of `user`, by default of the caller's user; without shares. Those of others need `admin:ListServiceAccounts`. */
  listAccessKeys(
    caller: Caller,
    request?: PageRequest & { readonly user?: string; readonly status?: Status },
  ): Promise<Page<AccessKey>>
  getAccessKey(caller: Caller, accessKey: string): Promise<AccessKey>
  /** The only method, beside `rotateAccessKey`, that returns the secret. */
  createAccessKey(caller: Caller, key: NewAccessKey): Promise<{ readonly key: AccessKey; readonly secretKey: string }>
  updateAccessKey(caller: Caller, accessKey: string, change: AccessKeyChange): Promise<AccessKey>
  deleteAccessKey(caller: Caller, accessKey: string): Promise<void>
  rotateAccessKey(caller: Caller, accessKey: string, secretKey?: string): Promise<SecretPair>

  /**
   * Shares of the caller's user; those of `user`, or of everybody with `isAll`, need `admin:ListServiceAccounts`. Restricted credentials
   * see the shares that they created. Ended shares stay in the list for a day, at most as many as may be active.
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
  /** Afterwards no thread accepts it. No error for a share that is already revoked. Those of others need `admin:RemoveServiceAccount`. */
  revokeShare(caller: Caller, id: string): Promise<void>
  /** Removes shares that ended more than a day ago. Resolves with their number. */
  removeOldShares(): Promise<number>

  /** All users, groups, policies and access keys, as of one moment, **including secrets**; without revoked share links. */
  exportDirectory(): Promise<Directory>
  /**
   * Imports the export of this or another deployment. Checks all of it before anything is stored. `merge` keeps documents that are not in
   * it, `replace` removes them. An interrupted import may be repeated. Rejects with `invalid_argument`, whose cause has all problems.
   */
  importDirectory(directory: Directory, options: DirectoryImportOptions): Promise<DirectoryImport>

  /**
   * The identity of a user for the policy engine, even if the user is disabled. Must not be used to authenticate. Root's name gives root.
   * Undefined if the user does not exist.
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
