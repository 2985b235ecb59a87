import { type Static, Type } from 'typebox'
import type { Group as GroupOfService } from '../api.ts'
import { Description, ignored, Status, Time } from './user-schema.ts'

export const GroupParameters = Type.Object({ group: Type.String({ minLength: 1, maxLength: 128 }) })

export const Group = Type.Object(
  {
    name: Type.String(),
    status: Status,
    description: Type.String(),
    members: Type.Optional(Type.Array(Type.String(), { description: 'Not in lists.' })),
    memberCount: Type.Integer({ readOnly: true }),
    policyNames: Type.Array(Type.String(), { readOnly: true }),
    createdAt: Time,
    updatedAt: Time,
  },
  { $id: 'Group' },
)

/** A commit has at most a thousand documents, two of which are not members. */
export const membersPerChangeMax = 998

export const groupMadeByServer = {
  memberCount: ignored,
  policyNames: ignored,
  createdAt: ignored,
  updatedAt: ignored,
}

export const GroupChange = Type.Object(
  {
    status: Type.Optional(Status),
    description: Type.Optional(Type.Union([Description, Type.Null()])),
    name: ignored,
    members: ignored,
    ...groupMadeByServer,
  },
  { $id: 'GroupChange' },
)

export function describeGroup(group: GroupOfService): Static<typeof Group> {
  return { ...describeListedGroup(group), members: [...group.members] }
}

export function describeListedGroup(group: GroupOfService): Static<typeof Group> {
  const { name, status, description, members, policyNames, createdMs, updatedMs } = group
  return {
    name,
    status,
    description,
    memberCount: members.length,
    policyNames: [...policyNames],
    createdAt: new Date(createdMs).toISOString(),
    updatedAt: new Date(updatedMs).toISOString(),
  }
}
