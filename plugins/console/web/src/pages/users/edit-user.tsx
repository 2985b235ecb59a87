/** A new user, or what may be changed of one. */
import { useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { changePolicies } from '../../parts/change-policies.ts'
import { changedFields, type Principal, PrincipalForm, useNoteCheck } from '../../parts/principal-form.tsx'
import { requireKnown } from '../../parts/require-known.ts'
import { useShowKey } from '../../parts/secret-once.tsx'
import { texts } from '../../texts/index.ts'
import type { User } from './users.tsx'

export interface EditUserProps {
  /** Absent for a new one. */
  readonly user?: User
  readonly onClose: () => void
}

export function EditUser({ user, onClose }: EditUserProps) {
  const queryClient = useQueryClient()
  const showKey = useShowKey()
  const before = user && { ...user, name: user.accessKey, related: user.groups }
  const requireNote = useNoteCheck()
  const create = async ({ name, description, policyNames, related }: Principal) => {
    const body = { accessKey: name, description, policyNames: [...policyNames], groups: [...related] }
    const { accessKey, secretKey } = await call('createUser', { body })
    await queryClient.invalidateQueries({ queryKey: ['users'] })
    if (secretKey !== undefined) showKey({ accessKey, secretKey })
  }
  const change = async (existing: Principal, given: Principal) => {
    const params = { user: existing.name }
    const body = changedFields(existing, given)
    try {
      await requireNote(existing, body, async () => {
        // The first of those whose names begin so.
        const { items } = await call('listUsers', { query: { prefix: existing.name, limit: 1 } })
        return items[0]?.description ?? existing.description
      })
      await requireKnown([
        { of: 'policies', field: '/policyNames', before: existing.policyNames, after: given.policyNames },
        { of: 'groups', field: '/related', before: existing.related, after: given.related },
      ])
      if (Object.keys(body).length > 0) await call('updateUser', { params, body })
      await changePolicies(params, existing.policyNames, given.policyNames)
      await changeGroups(existing, given)
    } finally {
      // The first of them may be done when the next one fails.
      await queryClient.invalidateQueries({ queryKey: ['users'] })
    }
  }
  return (
    <PrincipalForm
      existing={before}
      words={{ ...texts.users, related: texts.users.groups }}
      related="groups"
      switchRights={{ enabled: 'admin:EnableUser', disabled: 'admin:DisableUser' }}
      onSave={given => (before === undefined ? create(given) : change(before, given))}
      onClose={onClose}
    />
  )
}

/** Sends what differs: a whole list would undo what others have changed since it was read. */
async function changeGroups({ name, related: before }: Principal, { related: after }: Principal): Promise<void> {
  for (const group of after.filter(one => !before.includes(one))) {
    await call('addGroupMembers', { params: { group }, body: { members: [name] } })
  }
  for (const group of before.filter(one => !after.includes(one))) {
    await call('removeGroupMember', { params: { group, user: name } })
  }
}
