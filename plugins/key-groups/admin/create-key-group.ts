import { checkField, defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { describeKeyGroup, GroupId, KeyGroup, keyGroupInput } from './key-group-schema.ts'
import { manage, requireManaged } from './rights.ts'

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
    const options = { requireUses: requireManaged(request) }
    const create = () => keyGroups.create(id, { comment, keys }, options)
    return describeKeyGroup(await checkField('/id', create, ['already_exists']), request)
  },
})
