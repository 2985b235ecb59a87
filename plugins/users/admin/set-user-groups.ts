import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { describeUser, Names, User, UserParameters } from './user-schema.ts'

const UserGroups = Type.Object({ groups: Names }, { $id: 'UserGroups', description: 'The whole set.' })

export default defineAdminOperation({
  id: 'setUserGroups',
  method: 'PUT',
  path: '/users/{user}/groups',
  tag: 'users',
  summary: 'Sets the groups of a user.',
  authorize: ['admin:AddUserToGroup', 'admin:RemoveUserFromGroup'],
  params: UserParameters,
  body: UserGroups,
  response: User,
  errors: ['group_not_found', 'user_not_found'],
  uses: ['users'],
  handle: async ({ params: { user }, body: { groups } }, { users }) =>
    describeUser(await users.setUserGroups(user, groups)),
})
