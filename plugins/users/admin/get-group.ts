import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import { ownUserOf } from './caller.ts'
import { describeGroup, Group, GroupParameters } from './group-schema.ts'

export default defineAdminOperation({
  id: 'getGroup',
  method: 'GET',
  path: '/groups/{group}',
  tag: 'groups',
  summary: 'Returns a group with its members, who may read it, too.',
  authorize: 'service',
  params: GroupParameters,
  response: Group,
  errors: ['group_not_found'],
  uses: ['users'],
  async handle(request, { users }) {
    const name = request.params.group
    if (request.isAllowed('admin:GetGroup')) return describeGroup(await users.getGroup(name))
    const user = ownUserOf(request)
    // Of the user, not of the identity: a disabled group has members, too. Who is none learns not even whether it exists.
    if (user === undefined || !(await users.getUser(user)).groups.includes(name)) throw adminErrors.access_denied()
    return describeGroup(await users.getGroup(name))
  },
})
