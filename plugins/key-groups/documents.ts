/** The stored form of a key group: one document with its id. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import type { Collection, CompiledDocuments, StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'

const closed = { additionalProperties: false }

const publicFields = {
  id: Type.String(),
  name: Type.String(),
  algorithm: Type.Enum(['rsa', 'ed25519']),
  publicKey: Type.String(),
  enabled: Type.Boolean(),
  allowSha1: Type.Boolean(),
}

/** A key as archives contain it. */
export const PublicKeyDocument = Type.Object(publicFields, closed)

const KeyDocument = Type.Object(
  {
    ...publicFields,
    /** PEM, PKCS #8. Absent: the server cannot sign with this key. */
    privateKey: Type.Optional(Type.String({ secret: true })),
    /** The user who added it. Absent: the server itself, or a version that did not keep it. */
    addedBy: Type.Optional(Type.String()),
    createdMs: Type.Number(),
  },
  closed,
)

const KeyGroupDocument = Type.Object(
  {
    comment: Type.String(),
    keys: Type.Array(KeyDocument),
    /** The user who made it. Absent: the server itself, or a version that did not keep it. */
    madeBy: Type.Optional(Type.String()),
    createdMs: Type.Number(),
  },
  closed,
)

export type KeyDocument = Static<typeof KeyDocument>
export type KeyGroupDocument = Static<typeof KeyGroupDocument>

/** A key that verifies. */
export interface VerifyingKey {
  readonly id: string
  readonly algorithm: KeyDocument['algorithm']
  readonly publicKey: KeyObject
  readonly signatureBytes: number
  readonly allowSha1: boolean
}

/** The form of a group in which requests need it. */
export interface CompiledKeyGroup {
  readonly id: string
  /** Sequence number of the commit that wrote it; no two states of groups share one. */
  readonly sequence: number
  /** Enabled keys by id. */
  readonly keys: ReadonlyMap<string, VerifyingKey>
}

/** Changes with each group that the user of its id makes, so that two that are made at once are counted one after the other. */
const MakerDocument = Type.Object({ changes: Type.Integer() }, closed)

export interface KeyGroupDocuments {
  readonly groups: Collection<KeyGroupDocument>
  readonly makers: Collection<Static<typeof MakerDocument>>
  readonly compiled: CompiledDocuments<CompiledKeyGroup>
}

/** During set-up, in every thread. */
export function declareKeyGroups(store: StoreService): KeyGroupDocuments {
  const groups = store.collection({ name: 'key-group', version: 1, schema: KeyGroupDocument })
  const compiled = groups.compiled(({ id, sequence, value }) => ({
    id,
    sequence,
    keys: new Map(value.keys.filter(({ enabled }) => enabled).map(key => [key.id, verifyingKey(key)])),
  }))
  const makers = store.collection({
    name: 'key-group-maker',
    version: 1,
    archiveNote: 'not in it: changes with the key groups',
    schema: MakerDocument,
  })
  return { groups, makers, compiled }
}

function verifyingKey({ id, algorithm, publicKey: pem, allowSha1 }: KeyDocument): VerifyingKey {
  const publicKey = createPublicKey(pem)
  const signatureBytes = algorithm === 'ed25519' ? 64 : Math.ceil(publicKey.asymmetricKeyDetails!.modulusLength! / 8)
  return { id, algorithm, publicKey, signatureBytes, allowSha1 }
}
