import { defineAdminOperation } from 'svc/plugins/admin/api'
import { AttachedPolicies, Attachment, holderOf } from './attachment-schema.ts'

export default defineAdminOperation({
  id: 'attachPolicies',
  method: 'POST',
  path: '/policies/attach',
  tag: 'policies',
  summary: 'Attaches policies to a user or a group. Policies that are already attached are no error.',
  authorize: ['admin:AttachUserOrGroupPolicy'],
  body: Attachment,
  response: AttachedPolicies,
  errors: ['group_not_found', 'policy_not_found', 'user_not_found'],
  uses: ['users'],
  async handle({ body }, { users }) {
    const holder = holderOf(body)
    return { ...holder, policyNames: await users.attachPolicies(holder, body.policyNames) }
  },
})
