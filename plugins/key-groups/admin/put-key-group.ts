import { defineAdminOperation, invalidFields, replyWith } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../api.ts'
import { editorOf } from '../editor.ts'
import { manage } from '../errors.ts'
import { describeKeyGroup, GroupId, GroupParameters, KeyGroup, keyGroupInput } from './key-group-schema.ts'

export default defineAdminOperation({
  id: 'putKeyGroup',
  method: 'PUT',
  path: '/keygroups/{id}',
  tag: 'distributions',
  summary:
    'Creates (201) or replaces a key group. Keys are matched by id: named keys keep their private keys, the others are removed, and their signatures are refused from then on.',
  authorize: [manage],
  params: GroupParameters,
  body: keyGroupInput('KeyGroupInput', Type.Optional(GroupId)),
  response: KeyGroup,
  etag: true,
  errors: ['invalid_key_group', 'key_group_in_use', 'precondition_failed'],
  uses: ['keyGroups'],
  async handle(request, { keyGroups }) {
    const { params, body, ifMatch } = request
    const { id } = params
    if (body.id !== undefined && body.id !== id) {
      throw invalidFields([{ element: '/id', message: 'is not the id of the path' }])
    }
    const { comment, keys } = body
    const options = { ifMatch, editor: editorOf(request) }
    const { group, isNew } = await keyGroups.put(id, { comment, keys }, options)
    return replyWith(await describeKeyGroup(group, request), { status: isNew ? 201 : 200 })
  },
})
