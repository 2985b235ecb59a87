import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../api.ts'
import { manage } from '../errors.ts'
import { describeKeyGroup, KeyGroup } from './key-group-schema.ts'

export default defineAdminOperation({
  id: 'listKeyGroups',
  method: 'GET',
  path: '/keygroups',
  tag: 'distributions',
  summary: 'Lists key groups by id.',
  authorize: [manage],
  query: Type.Object(pageParameters),
  response: pageOf(KeyGroup),
  uses: ['keyGroups'],
  async handle(request, { keyGroups }) {
    const { cursor, limit } = request.query
    const { items: groups, next } = await keyGroups.list({ startAfter: decodeCursor(cursor), limit })
    const items = []
    for (const group of groups) items.push(await describeKeyGroup(group, request))
    return { items, nextCursor: encodeCursor(next) }
  },
})
