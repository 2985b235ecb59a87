import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { describeGroup, Group, GroupParameters, membersPerChangeMax } from './group-schema.ts'
import { Name } from './user-schema.ts'

const NewMembers = Type.Object(
  { members: Type.Array(Name, { minItems: 1, maxItems: membersPerChangeMax }) },
  { $id: 'NewMembers' },
)

export default defineAdminOperation({
  id: 'addGroupMembers',
  method: 'POST',
  path: '/groups/{group}/members',
  tag: 'groups',
  summary: 'Adds users to a group, all of them or none. Users that are already members are no error.',
  authorize: ['admin:AddUserToGroup'],
  params: GroupParameters,
  body: NewMembers,
  response: Group,
  errors: ['group_not_found', 'user_not_found'],
  uses: ['users'],
  handle: async ({ params: { group }, body: { members } }, { users }) =>
    describeGroup(await users.addGroupMembers(group, members)),
})
