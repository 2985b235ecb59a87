import { checkField, defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { editorOf } from '../editor.ts'
import { manage } from '../errors.ts'
import { describeKeyGroup, GroupId, KeyGroup, keyGroupInput } from './key-group-schema.ts'

export default defineAdminOperation({
  id: 'createKeyGroup',
  method: 'POST',
  path: '/keygroups',
  tag: 'distributions',
  summary: 'Creates a key group, with public keys or without.',
  authorize: [manage],
  body: keyGroupInput('NewKeyGroup', GroupId),
  response: KeyGroup,
  location: ({ id }) => `/keygroups/${encodeURIComponent(id)}`,
  etag: true,
  errors: ['already_exists', 'invalid_key_group'],
  uses: ['keyGroups'],
  async handle(request, { keyGroups }) {
    const { id, comment, keys } = request.body
    const options = { editor: editorOf(request) }
    const create = () => keyGroups.create(id, { comment, keys }, options)
    return describeKeyGroup(await checkField('/id', create, ['already_exists']), request)
  },
})
