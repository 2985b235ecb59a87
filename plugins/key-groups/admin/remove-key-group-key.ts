import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../api.ts'
import { editorOf } from '../editor.ts'
import { manage } from '../errors.ts'
import { GroupParameters } from './key-group-schema.ts'

export default defineAdminOperation({
  id: 'removeKeyGroupKey',
  method: 'DELETE',
  path: '/keygroups/{id}/keys/{keyId}',
  tag: 'distributions',
  summary: 'Removes a key from a key group: its signatures are refused from then on.',
  authorize: [manage],
  params: Type.Object({ ...GroupParameters.properties, keyId: Type.String({ minLength: 1, maxLength: 64 }) }),
  errors: ['key_group_in_use', 'key_group_not_found', 'key_not_found'],
  uses: ['keyGroups'],
  handle: (request, { keyGroups }) =>
    keyGroups.removeKey(request.params.id, request.params.keyId, { editor: editorOf(request) }),
})
