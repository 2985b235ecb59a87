import { defineAdminOperation } from 'svc/plugins/admin/api'
import { ownUserOf } from './caller.ts'
import { describeUser, User, UserParameters } from './user-schema.ts'

export default defineAdminOperation({
  id: 'getUser',
  method: 'GET',
  path: '/users/{user}',
  tag: 'users',
  summary: 'Returns a user. Users may read themselves.',
  authorize: 'service',
  params: UserParameters,
  response: User,
  errors: ['user_not_found'],
  uses: ['users'],
  async handle(request, { users }) {
    const { user } = request.params
    if (ownUserOf(request) !== user) request.requireAllowed('admin:GetUser')
    return describeUser(await users.getUser(user))
  },
})
