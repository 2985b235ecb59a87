import { defineAdminOperation } from 'svc/plugins/admin/api'
import { describeUser, User, UserChange, UserParameters } from './user-schema.ts'

export default defineAdminOperation({
  id: 'updateUser',
  method: 'PATCH',
  path: '/users/{user}',
  tag: 'users',
  summary:
    'Enables, disables or describes a user. The sessions, access keys and share links of a disabled user are invalid at once.',
  authorize: 'service',
  authorizeRequest: ({ body: { status, description } }) => ({
    actions: [
      ...(status === 'enabled' ? ['admin:EnableUser'] : []),
      ...(status === 'disabled' ? ['admin:DisableUser'] : []),
      // A request without a change returns the user, so it needs an action, too.
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
