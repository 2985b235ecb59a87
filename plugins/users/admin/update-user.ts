import { defineAdminOperation } from 'svc/plugins/admin/api'
import { describeUser, User, UserChange, UserParameters } from './user-schema.ts'

export default defineAdminOperation({
  id: 'updateUser',
  method: 'PATCH',
  path: '/users/{user}',
  tag: 'users',
  summary: 'Enables, disables or describes a user. Disabled, its sessions, access keys and share links stop at once.',
  authorize: 'service',
  authorizeRequest: ({ body: { status, description } }) => ({
    actions: [
      ...(status === 'enabled' ? ['admin:EnableUser'] : []),
      ...(status === 'disabled' ? ['admin:DisableUser'] : []),
      // What changes nothing shows the user all the same.
      ...(description !== undefined || status === undefined ? ['admin:CreateUser'] : []),
    ],
  }),
  params: UserParameters,
  body: UserChange,
  response: User,
  errors: ['user_not_found'],
  uses: ['users'],
  handle: async ({ params: { user }, body: { status, description } }, { users }) =>
    describeUser(await users.updateUser(user, { status, description })),
})
