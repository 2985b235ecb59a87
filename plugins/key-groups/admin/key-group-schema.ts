import { type AdminRequest, commentOf } from 'svc/plugins/admin/api'
import { type Static, type TSchema, Type } from 'typebox'
import type { KeyGroup as KeyGroupOfService, KeyGroupKey as KeyOfService } from '../api.ts'
import { visibleUses } from '../editor.ts'
import { keysMax } from '../key-inputs.ts'

const Time = Type.String({ format: 'date-time', readOnly: true })
/** Fields that reads return in addition to the writable ones. */
const ignored = Type.Optional(Type.Unknown({ readOnly: true }))

export const KeyAlgorithm = Type.Enum(['rsa', 'ed25519'])
export const KeyName = Type.String({ maxLength: 128 })
export const PublicKey = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: 'PEM, "-----BEGIN PUBLIC KEY-----": Ed25519, or RSA of 2048 to 4096 bits.',
})
export const GroupId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'Lower-case letters, digits and `. _ -`.',
})

export const GroupParameters = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64 }) })

export const KeyGroupKey = Type.Object(
  {
    id: Type.String({ readOnly: true, description: 'The `Key-Pair-Id` of signatures by the key.' }),
    name: Type.String(),
    algorithm: KeyAlgorithm,
    publicKey: PublicKey,
    hasPrivateKey: Type.Boolean({ readOnly: true, description: 'The server can sign with it.' }),
    enabled: Type.Boolean({ description: 'Signatures of a disabled key are refused.' }),
    allowSha1: Type.Boolean({ description: 'Of RSA: signatures over SHA-1 hold, too, as old signers make them.' }),
    createdAt: Time,
  },
  { $id: 'KeyGroupKey' },
)

export const KeyGroup = Type.Object(
  {
    id: GroupId,
    comment: Type.String(),
    keys: Type.Array(KeyGroupKey),
    usedBy: Type.Array(Type.String(), {
      readOnly: true,
      description: 'Distributions that name it and that the caller may manage.',
    }),
    createdAt: Time,
    updatedAt: Time,
    etag: Type.String({ readOnly: true }),
  },
  { $id: 'KeyGroup' },
)

const KeyInput = Type.Object({
  id: Type.Optional(Type.String({ maxLength: 64, description: 'Of a key that is in the group already.' })),
  name: Type.Optional(KeyName),
  algorithm: Type.Optional(KeyAlgorithm),
  publicKey: Type.Optional(PublicKey),
  enabled: Type.Optional(Type.Boolean({ default: true })),
  allowSha1: Type.Optional(Type.Boolean({ default: false, description: 'Of RSA.' })),
  hasPrivateKey: ignored,
  createdAt: ignored,
})

/** `id`: required where the path does not have it. */
export const keyGroupInput = <Id extends TSchema>($id: string, id: Id) =>
  Type.Object(
    {
      id,
      comment: Type.Optional(commentOf(256)),
      keys: Type.Optional(Type.Array(KeyInput, { maxItems: keysMax })),
      usedBy: ignored,
      createdAt: ignored,
      updatedAt: ignored,
      etag: ignored,
    },
    { $id },
  )

const timeOf = (timeMs: number): string => new Date(timeMs).toISOString()

export function describeKey({ createdMs, addedBy: _, ...key }: KeyOfService): Static<typeof KeyGroupKey> {
  return { ...key, createdAt: timeOf(createdMs) }
}

export async function describeKeyGroup(
  group: KeyGroupOfService,
  request: Pick<AdminRequest, 'authorize'>,
): Promise<Static<typeof KeyGroup>> {
  const { id, comment, keys, createdMs, updatedMs, etag } = group
  return {
    id,
    comment,
    keys: keys.map(describeKey),
    usedBy: await visibleUses(request, group),
    createdAt: timeOf(createdMs),
    updatedAt: timeOf(updatedMs),
    etag,
  }
}
