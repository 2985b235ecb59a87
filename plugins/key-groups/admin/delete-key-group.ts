import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { GroupParameters } from './key-group-schema.ts'

export default defineAdminOperation({
  id: 'deleteKeyGroup',
  method: 'DELETE',
  path: '/keygroups/{id}',
  tag: 'distributions',
  summary: 'Deletes a key group that no distribution names, with its private keys.',
  authorize: ['admin:ManageDistributions'],
  params: GroupParameters,
  etag: true,
  errors: ['key_group_in_use', 'key_group_not_found', 'precondition_failed'],
  uses: ['keyGroups'],
  handle: ({ params: { id }, ifMatch }, { keyGroups }) => keyGroups.delete(id, { ifMatch }),
})
