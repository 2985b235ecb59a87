import { defineAdminOperation } from 'svc/plugins/admin/api'
import { describeGroup, Group, GroupChange, GroupParameters } from './group-schema.ts'

export default defineAdminOperation({
  id: 'updateGroup',
  method: 'PATCH',
  path: '/groups/{group}',
  tag: 'groups',
  summary: 'Enables, disables or describes a group. The policies of a disabled group neither allow nor deny anything.',
  authorize: 'service',
  authorizeRequest: ({ body: { status, description } }) => ({
    actions: [
      ...(status === 'enabled' ? ['admin:EnableGroup'] : []),
      ...(status === 'disabled' ? ['admin:DisableGroup'] : []),
      // A request without a change returns the group, so it needs an action, too.
      ...(description !== undefined || status === undefined ? ['admin:CreateGroup'] : []),
    ],
  }),
  params: GroupParameters,
  body: GroupChange,
  response: Group,
  errors: ['group_not_found'],
  uses: ['users'],
  handle: async ({ params: { group }, body: { status, description } }, { users }) =>
    describeGroup(await users.updateGroup(group, { status, description })),
})
