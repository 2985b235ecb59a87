import { defineAdminOperation } from 'svc/plugins/admin/api'
import { GroupParameters } from './group-schema.ts'

export default defineAdminOperation({
  id: 'deleteGroup',
  method: 'DELETE',
  path: '/groups/{group}',
  tag: 'groups',
  summary: 'Deletes a group without members.',
  authorize: ['admin:DeleteGroup'],
  params: GroupParameters,
  errors: ['group_not_empty', 'group_not_found'],
  uses: ['users'],
  handle: ({ params: { group } }, { users }) => users.deleteGroup(group),
})
