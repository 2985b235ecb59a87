import { checkField, defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { describeKeyGroup, GroupId, KeyGroup, keyGroupInput } from './key-group-schema.ts'

export default defineAdminOperation({
  id: 'createKeyGroup',
  method: 'POST',
  path: '/keygroups',
  tag: 'distributions',
  summary: 'Creates a key group, with public keys or without.',
  authorize: ['admin:ManageDistributions'],
  body: keyGroupInput('NewKeyGroup', GroupId),
  response: KeyGroup,
  location: ({ id }) => `/keygroups/${encodeURIComponent(id)}`,
  etag: true,
  errors: ['already_exists', 'invalid_key_group'],
  uses: ['keyGroups'],
  handle: async ({ body: { id, comment, keys } }, { keyGroups }) =>
    describeKeyGroup(await checkField('/id', () => keyGroups.create(id, { comment, keys }), ['already_exists'])),
})
