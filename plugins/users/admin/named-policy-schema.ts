import { type Static, Type } from 'typebox'
import type { AttachedTo, NamedPolicy as NamedPolicyOfService } from '../api.ts'
import { StoredPolicy } from './policy-document-schema.ts'

export const PolicyParameters = Type.Object({ name: Type.String({ minLength: 1, maxLength: 128 }) })

export const NamedPolicy = Type.Object(
  {
    name: Type.String(),
    document: StoredPolicy,
    builtIn: Type.Boolean({ description: 'Part of every server; cannot be changed.' }),
    etag: Type.String({ readOnly: true }),
    updatedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      readOnly: true,
      description: 'Null for built-in policies.',
    }),
    attachedTo: Type.Optional(
      Type.Object(
        { users: Type.Array(Type.String()), groups: Type.Array(Type.String()) },
        {
          readOnly: true,
          description: 'Of a single policy, and of a list where it is asked for; to callers who may read all policies.',
        },
      ),
    ),
  },
  { $id: 'NamedPolicy' },
)

/** `attached`: who has it, where that is told. */
export function describeNamedPolicy(policy: NamedPolicyOfService, attached?: AttachedTo): Static<typeof NamedPolicy> {
  const { name, document, builtIn, etag, updatedMs } = policy
  const updatedAt = builtIn ? null : new Date(updatedMs).toISOString()
  const attachedTo = attached && { users: [...attached.users], groups: [...attached.groups] }
  return { name, document: { ...document }, builtIn, etag, updatedAt, ...(attachedTo && { attachedTo }) }
}
