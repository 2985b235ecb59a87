import { defineAdminOperation } from 'svc/plugins/admin/api'
import { UserParameters } from './user-schema.ts'

export default defineAdminOperation({
  id: 'deleteUser',
  method: 'DELETE',
  path: '/users/{user}',
  tag: 'users',
  summary:
    'Deletes a user with its access keys, share links, sessions and memberships. Callers cannot delete their own user.',
  authorize: ['admin:DeleteUser'],
  params: UserParameters,
  errors: ['conflict', 'user_not_found'],
  uses: ['users'],
  handle: ({ params: { user }, identity }, { users }) => users.deleteUser(user, identity!),
})
