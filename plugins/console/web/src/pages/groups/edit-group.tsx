/** A new group, or what may be changed of one. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { call } from '../../api/client.ts'
import { changePolicies } from '../../parts/change-policies.ts'
import { changedFields, type Principal, PrincipalForm, useNoteCheck } from '../../parts/principal-form.tsx'
import { requireKnown } from '../../parts/require-known.ts'
import { texts } from '../../texts/index.ts'
import type { Group } from './groups.tsx'

/** The list has the number of members, not their names. */
export function EditExistingGroup({ name, onClose }: { name: string; onClose: () => void }) {
  const { data } = useQuery({
    queryKey: ['group', name],
    queryFn: ({ signal }) => call('getGroup', { params: { group: name }, signal }),
    staleTime: 0,
    gcTime: 0,
  })
  return data === undefined ? null : <EditGroup group={data} onClose={onClose} />
}

export function EditGroup({ group, onClose }: { group?: Group; onClose: () => void }) {
  const queryClient = useQueryClient()
  // As it was when the dialog opened, even if it is read again meanwhile: what differs from that was changed here.
  const [before] = useState(group && { ...group, related: group.members ?? [] })
  const requireNote = useNoteCheck()
  /** A group that was made while its policies could not be attached: the next attempt changes it. */
  const made = useRef<Principal>(undefined)
  const create = async (given: Principal) => {
    if (made.current?.name !== given.name) {
      await requireKnown([{ of: 'policies', field: '/policyNames', before: [], after: given.policyNames }])
      const { name, description, related } = given
      await call('createGroup', { body: { name, description, members: [...related] } })
      made.current = { ...given, policyNames: [] }
    }
    try {
      await change(made.current, given)
    } catch (error) {
      // With its policies, or not at all; whoever may not delete it again goes on with it.
      await call('deleteGroup', { params: { group: given.name } }).then(
        () => (made.current = undefined),
        () => {},
      )
      throw error
    }
  }
  const change = async (existing: Principal, given: Principal) => {
    const params = { group: existing.name }
    const body = changedFields(existing, given)
    await requireNote(existing, body, async () => (await call('getGroup', { params })).description)
    await requireKnown([
      { of: 'policies', field: '/policyNames', before: existing.policyNames, after: given.policyNames },
      { of: 'users', field: '/related', before: existing.related, after: given.related },
    ])
    if (Object.keys(body).length > 0) await call('updateGroup', { params, body })
    await changePolicies(params, existing.policyNames, given.policyNames)
    const members = given.related.filter(member => !existing.related.includes(member))
    if (members.length > 0) await call('addGroupMembers', { params, body: { members } })
    for (const user of existing.related.filter(member => !given.related.includes(member))) {
      await call('removeGroupMember', { params: { ...params, user } })
    }
  }
  const save = async (given: Principal) => {
    try {
      await (before === undefined ? create(given) : change(before, given))
    } finally {
      await queryClient.invalidateQueries({ queryKey: ['groups'] })
    }
  }
  return (
    <PrincipalForm
      existing={before}
      words={{ ...texts.groups, name: texts.common.name, related: texts.groups.members }}
      related="users"
      switchRights={{ enabled: 'admin:EnableGroup', disabled: 'admin:DisableGroup' }}
      onSave={save}
      onClose={onClose}
    />
  )
}
