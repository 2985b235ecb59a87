import { type Static, Type } from 'typebox'
import type { User as UserOfService } from '../api.ts'

/** The access key of a user, or the name of an access key. */
export const AccessKeyName = Type.String({
  minLength: 3,
  maxLength: 128,
  pattern: '^[A-Za-z0-9._@+=-]*$',
  errorMessage: 'must be letters, digits and . _ @ + = -',
  description: 'Letters, digits and `. _ @ + = -`.',
})
/** Name of a group or a policy. */
export const Name = Type.String({ minLength: 1, maxLength: 128 })
export const Names = Type.Array(Name, { maxItems: 1000 })
export const Status = Type.Union([Type.Literal('enabled'), Type.Literal('disabled')])
export const Description = Type.String({ maxLength: 256 })
export const Time = Type.String({ format: 'date-time', readOnly: true })

export const UserParameters = Type.Object({ user: Type.String({ minLength: 1, maxLength: 128 }) })

export const User = Type.Object(
  {
    accessKey: Type.String(),
    status: Status,
    description: Type.String(),
    groups: Type.Array(Type.String()),
    policyNames: Type.Array(Type.String(), { description: 'Policies that are attached to the user itself.' }),
    effectivePolicyNames: Type.Array(Type.String(), { description: 'With the policies of its enabled groups.' }),
    accessKeyCount: Type.Integer({ description: 'Number of access keys, without share links.' }),
    createdAt: Time,
    updatedAt: Time,
  },
  { $id: 'User' },
)

/** Fields of a document that was read, which a request may contain but not set. */
export const ignored = Type.Optional(Type.Unknown({ readOnly: true }))
export const madeByServer = {
  effectivePolicyNames: ignored,
  accessKeyCount: ignored,
  createdAt: ignored,
  updatedAt: ignored,
}

export const UserChange = Type.Object(
  {
    status: Type.Optional(Status),
    description: Type.Optional(Type.Union([Description, Type.Null()])),
    accessKey: ignored,
    groups: ignored,
    policyNames: ignored,
    ...madeByServer,
  },
  { $id: 'UserChange' },
)

export function describeUser({ createdMs, updatedMs, ...user }: UserOfService): Static<typeof User> {
  return {
    ...user,
    groups: [...user.groups],
    policyNames: [...user.policyNames],
    effectivePolicyNames: [...user.effectivePolicyNames],
    createdAt: new Date(createdMs).toISOString(),
    updatedAt: new Date(updatedMs).toISOString(),
  }
}
