import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import { ownUserOf } from './caller.ts'
import { describeGroup, Group, GroupParameters } from './group-schema.ts'

export default defineAdminOperation({
  id: 'getGroup',
  method: 'GET',
  path: '/groups/{group}',
  tag: 'groups',
  summary: 'Returns a group with its members. Members may read it without an action.',
  authorize: 'service',
  params: GroupParameters,
  response: Group,
  errors: ['group_not_found'],
  uses: ['users'],
  async handle(request, { users }) {
    const name = request.params.group
    if (request.isAllowed('admin:GetGroup')) return describeGroup(await users.getGroup(name))
    const user = ownUserOf(request)
    // Compares with the groups of the user, not of the identity: disabled groups have members, too. A caller who is not a member does not
    // learn whether the group exists.
    if (user === undefined || !(await users.getUser(user)).groups.includes(name)) throw adminErrors.access_denied()
    return describeGroup(await users.getGroup(name))
  },
})
