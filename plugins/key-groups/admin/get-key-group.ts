import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { manage } from '../errors.ts'
import { describeKeyGroup, GroupParameters, KeyGroup } from './key-group-schema.ts'

export default defineAdminOperation({
  id: 'getKeyGroup',
  method: 'GET',
  path: '/keygroups/{id}',
  tag: 'distributions',
  summary: 'Returns a key group. Private keys are never in it.',
  authorize: [manage],
  params: GroupParameters,
  response: KeyGroup,
  etag: true,
  errors: ['key_group_not_found'],
  uses: ['keyGroups'],
  handle: async (request, { keyGroups }) => describeKeyGroup(await keyGroups.get(request.params.id), request),
})
