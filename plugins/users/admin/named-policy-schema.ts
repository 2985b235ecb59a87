import { type Static, Type } from 'typebox'
import type { NamedPolicy as NamedPolicyOfService } from '../api.ts'
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
          description: 'Only in the answer for a single policy, to callers who may read all policies.',
        },
      ),
    ),
  },
  { $id: 'NamedPolicy' },
)

export function describeNamedPolicy(policy: NamedPolicyOfService): Static<typeof NamedPolicy> {
  const { name, document, builtIn, etag, updatedMs } = policy
  const updatedAt = builtIn ? null : new Date(updatedMs).toISOString()
  return { name, document: { ...document }, builtIn, etag, updatedAt }
}
