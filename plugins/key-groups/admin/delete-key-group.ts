import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { editorOf } from '../editor.ts'
import { manage } from '../errors.ts'
import { GroupParameters } from './key-group-schema.ts'

export default defineAdminOperation({
  id: 'deleteKeyGroup',
  method: 'DELETE',
  path: '/keygroups/{id}',
  tag: 'distributions',
  summary: 'Deletes a key group that no distribution names, with its private keys.',
  authorize: [manage],
  params: GroupParameters,
  etag: true,
  errors: ['key_group_in_use', 'key_group_not_found', 'precondition_failed'],
  uses: ['keyGroups'],
  handle: (request, { keyGroups }) =>
    keyGroups.delete(request.params.id, { ifMatch: request.ifMatch, editor: editorOf(request) }),
})
