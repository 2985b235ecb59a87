import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { describeKeyGroup, GroupParameters, KeyGroup } from './key-group-schema.ts'

export default defineAdminOperation({
  id: 'getKeyGroup',
  method: 'GET',
  path: '/keygroups/{id}',
  tag: 'distributions',
  summary: 'Returns a key group. Private keys are never in it.',
  authorize: ['admin:ManageDistributions'],
  params: GroupParameters,
  response: KeyGroup,
  etag: true,
  errors: ['key_group_not_found'],
  uses: ['keyGroups'],
  handle: async ({ params: { id } }, { keyGroups }) => describeKeyGroup(await keyGroups.get(id)),
})
