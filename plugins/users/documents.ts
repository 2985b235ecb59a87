/**
 * The stored documents. Every change of one of them also increments the revision, in the same transaction: a cache of a value that depends
 * on several documents compares one number (see changes.ts, principals.ts).
 */
import type { CompiledPolicy, PolicyDocument, PolicyService } from 'svc/plugins/policy/api'
import type { Collection, CompiledDocuments, StoredDocument, StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'

const Status = Type.Union([Type.Literal('enabled'), Type.Literal('disabled')])
const closed = { additionalProperties: false }

/** By access key. */
const UserDocument = Type.Object(
  {
    /** Random, so that access keys of a deleted user do not belong to the next user of that name. */
    uid: Type.String(),
    secretKey: Type.String({ secret: true }),
    status: Status,
    description: Type.String(),
    /** Sorted, like all lists of names. */
    groups: Type.Array(Type.String()),
    policyNames: Type.Array(Type.String()),
    createdMs: Type.Number(),
  },
  closed,
)

/** By name. The members are the users that name the group. */
const GroupDocument = Type.Object(
  {
    status: Status,
    description: Type.String(),
    policyNames: Type.Array(Type.String()),
    createdMs: Type.Number(),
  },
  closed,
)

/** By name. Has only the policy, so that its ETag is that of the policy. */
const PolicyRecord = Type.Object({ document: Type.Unsafe<PolicyDocument>(Type.Object({})) }, closed)

/** By access key. */
const AccessKeyDocument = Type.Object(
  {
    /** Random, so that credentials that were created with a deleted key are not valid for the next key of that name. */
    uid: Type.Optional(Type.String()),
    secretKey: Type.String({ secret: true }),
    kind: Type.Union([Type.Literal('access-key'), Type.Literal('share')]),
    /** Absent: root. */
    owner: Type.Optional(Type.Object({ name: Type.String(), uid: Type.String() }, closed)),
    status: Status,
    name: Type.String(),
    description: Type.String(),
    /** Milliseconds since 1970. */
    expiresMs: Type.Optional(Type.Number()),
    /** Embedded: a request needs its permission in addition to that of the owner. */
    policy: Type.Optional(Type.Unsafe<PolicyDocument>(Type.Object({}))),
    /** For a share: its object. */
    share: Type.Optional(
      Type.Object({ bucket: Type.String(), key: Type.String(), versionId: Type.Optional(Type.String()) }, closed),
    ),
    /** For a share: the time at which it was revoked and its secret removed. */
    revokedMs: Type.Optional(Type.Number()),
    /** The access key that created it and whose embedded policy limits it, too. It is valid no longer than that key. */
    parent: Type.Optional(Type.String()),
    /** The uid of the parent. */
    parentUid: Type.Optional(Type.String()),
    createdBy: Type.String(),
    createdMs: Type.Number(),
  },
  closed,
)

/** By access key. Not covered by the revision, because it changes no rights. */
const LastUseDocument = Type.Object({ usedMs: Type.Number() }, closed)

const RevisionDocument = Type.Object({ count: Type.Number() }, closed)

/** The key that seals session tokens: 32 bytes in base64. */
const SessionKeyDocument = Type.Object({ key: Type.String({ secret: true }) }, closed)

/** The documents that are exported to other deployments. */
export const directorySchemas = {
  users: UserDocument,
  groups: GroupDocument,
  policies: PolicyRecord,
  accessKeys: AccessKeyDocument,
} as const

export type UserDocument = Static<typeof UserDocument>
export type GroupDocument = Static<typeof GroupDocument>
export type PolicyRecord = Static<typeof PolicyRecord>
export type AccessKeyDocument = Static<typeof AccessKeyDocument>
export type Stored<T> = StoredDocument<T> | undefined

/** A compiled policy; undefined if it cannot be compiled, because it has actions of a plugin that is no longer loaded. */
export type Compiled = CompiledPolicy | undefined

export interface Documents {
  readonly users: Collection<UserDocument>
  readonly groups: Collection<GroupDocument>
  readonly policies: Collection<PolicyRecord>
  readonly accessKeys: Collection<AccessKeyDocument>
  readonly lastUses: Collection<Static<typeof LastUseDocument>>
  readonly revisions: Collection<Static<typeof RevisionDocument>>
  readonly sessionKeys: Collection<Static<typeof SessionKeyDocument>>
  readonly compiledPolicies: CompiledDocuments<Compiled>
}

/** The only id in its collection. */
export const only = 'current'

/** During set-up. */
export function declareDocuments(store: StoreService, policy: PolicyService): Documents {
  const version = 1
  const policies = store.collection({
    name: 'iam-policy',
    version,
    archiveNote: 'in policies.json',
    schema: PolicyRecord,
  })
  return {
    users: store.collection({ name: 'iam-user', version, archiveNote: 'in iam.bin', schema: UserDocument }),
    groups: store.collection({ name: 'iam-group', version, archiveNote: 'in iam.bin', schema: GroupDocument }),
    policies,
    accessKeys: store.collection({
      name: 'iam-access-key',
      version,
      archiveNote: 'in iam.bin',
      schema: AccessKeyDocument,
    }),
    lastUses: store.collection({
      name: 'iam-last-use',
      version,
      archiveNote: 'not in it: what happened here',
      schema: LastUseDocument,
    }),
    revisions: store.collection({
      name: 'iam-revision',
      version,
      archiveNote: 'not in it: changes with the others',
      schema: RevisionDocument,
    }),
    sessionKeys: store.collection({
      name: 'iam-session-key',
      version,
      archiveNote: 'not in it: sessions end with their deployment',
      schema: SessionKeyDocument,
    }),
    compiledPolicies: policies.compiled(({ value }) => policy.compile(value.document, { kind: 'identity' }).policy),
  }
}

/** All documents of a collection, or those whose ids begin with `prefix`, read in pages. */
export async function* allOf<T>(collection: Collection<T>, prefix = ''): AsyncGenerator<StoredDocument<T>> {
  let startAfter: string | undefined = ''
  while (startAfter !== undefined) {
    const page: { documents: readonly StoredDocument<T>[]; next: string | undefined } = await collection.list({
      prefix,
      startAfter,
    })
    yield* page.documents
    startAfter = page.next
  }
}
