import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'

export default defineAdminOperation({
  id: 'revokeShare',
  method: 'DELETE',
  path: '/shares/{id}',
  tag: 'shares',
  summary: 'Revokes a share link: its URL answers 403 from now on. Doing so again changes nothing.',
  authorize: 'self',
  params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 128 }) }),
  errors: ['share_not_found'],
  uses: ['users'],
  async handle(request, { users }) {
    const caller = { identity: request.identity!, isAllowed: (action: string) => request.isAllowed(action) }
    await users.revokeShare(caller, request.params.id)
  },
})
