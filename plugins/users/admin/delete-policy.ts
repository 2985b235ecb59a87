import { defineAdminOperation } from 'svc/plugins/admin/api'
import { PolicyParameters } from './named-policy-schema.ts'

export default defineAdminOperation({
  id: 'deletePolicy',
  method: 'DELETE',
  path: '/policies/{name}',
  tag: 'policies',
  summary: 'Deletes a named policy that is attached to no user and no group.',
  authorize: ['admin:DeletePolicy'],
  params: PolicyParameters,
  etag: true,
  errors: ['builtin_policy', 'policy_in_use', 'policy_not_found', 'precondition_failed'],
  uses: ['users'],
  handle: ({ params: { name }, ifMatch }, { users }) => users.deletePolicy(name, { ifMatch }),
})
