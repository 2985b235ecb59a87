import { invalidFields } from 'svc/plugins/admin/api'
import { type Static, Type } from 'typebox'
import { Name } from './user-schema.ts'

export const Attachment = Type.Object(
  {
    policyNames: Type.Array(Name, { minItems: 1, maxItems: 1000 }),
    user: Type.Optional(Name),
    group: Type.Optional(Name),
  },
  { $id: 'Attachment', description: 'Policies for a user or a group.' },
)

export const AttachedPolicies = Type.Object(
  { user: Type.Optional(Type.String()), group: Type.Optional(Type.String()), policyNames: Type.Array(Type.String()) },
  { $id: 'AttachedPolicies', description: 'All policies that are attached afterwards.' },
)

/** The user or group that the policies are attached to. Throws `invalid_argument` if both or none are given. */
export function holderOf({ user, group }: Static<typeof Attachment>): { user: string } | { group: string } {
  if (user !== undefined && group === undefined) return { user }
  if (group !== undefined && user === undefined) return { group }
  throw invalidFields([{ element: '/user', message: 'or /group must be given, and not both' }])
}
