import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import type { UsersService } from '../api.ts'
import { ownUserOf } from './caller.ts'
import { describeNamedPolicy, NamedPolicy, PolicyParameters } from './named-policy-schema.ts'

export default defineAdminOperation({
  id: 'getPolicy',
  method: 'GET',
  path: '/policies/{name}',
  tag: 'policies',
  summary:
    'Returns a named policy, and the users and groups that it is attached to. Users may read their own policies, without the latter.',
  authorize: ['admin:GetPolicy'],
  // Users need no action for their own policies: the handler decides.
  authorizeRequest: () => ({ actions: [] }),
  params: PolicyParameters,
  response: NamedPolicy,
  etag: true,
  errors: ['policy_not_found'],
  uses: ['users'],
  async handle(request, { users }) {
    const { name } = request.params
    const mayReadAll = request.isAllowed('admin:GetPolicy')
    if (!mayReadAll && !(await hasPolicy(users, ownUserOf(request), name))) throw adminErrors.access_denied()
    const { attachedTo, ...policy } = await users.getPolicy(name)
    return describeNamedPolicy(policy, mayReadAll ? attachedTo : undefined)
  },
})

async function hasPolicy(users: UsersService, user: string | undefined, policy: string): Promise<boolean> {
  if (user === undefined) return false
  const { effectivePolicyNames } = await users.getUser(user)
  return effectivePolicyNames.includes(policy)
}
