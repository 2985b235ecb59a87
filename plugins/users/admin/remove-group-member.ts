import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { GroupParameters } from './group-schema.ts'
import { UserParameters } from './user-schema.ts'

export default defineAdminOperation({
  id: 'removeGroupMember',
  method: 'DELETE',
  path: '/groups/{group}/members/{user}',
  tag: 'groups',
  summary: 'Removes a user from a group. It is no error if the user is not a member.',
  authorize: ['admin:RemoveUserFromGroup'],
  params: Type.Object({ ...GroupParameters.properties, ...UserParameters.properties }),
  uses: ['users'],
  handle: ({ params: { group, user } }, { users }) => users.removeGroupMember(group, user),
})
