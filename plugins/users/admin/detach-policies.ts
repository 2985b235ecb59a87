import { defineAdminOperation } from 'svc/plugins/admin/api'
import { AttachedPolicies, Attachment, holderOf } from './attachment-schema.ts'

export default defineAdminOperation({
  id: 'detachPolicies',
  method: 'POST',
  path: '/policies/detach',
  tag: 'policies',
  summary: 'Detaches policies from a user or a group. Policies that are not attached are no error.',
  authorize: ['admin:AttachUserOrGroupPolicy'],
  body: Attachment,
  response: AttachedPolicies,
  errors: ['group_not_found', 'policy_not_found', 'user_not_found'],
  uses: ['users'],
  async handle({ body }, { users }) {
    const holder = holderOf(body)
    return { ...holder, policyNames: await users.detachPolicies(holder, body.policyNames) }
  },
})
