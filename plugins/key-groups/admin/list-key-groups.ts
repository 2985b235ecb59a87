import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../api.ts'
import { describeKeyGroup, KeyGroup } from './key-group-schema.ts'

export default defineAdminOperation({
  id: 'listKeyGroups',
  method: 'GET',
  path: '/keygroups',
  tag: 'distributions',
  summary: 'Lists key groups by id.',
  authorize: ['admin:ManageDistributions'],
  query: Type.Object(pageParameters),
  response: pageOf(KeyGroup),
  uses: ['keyGroups'],
  async handle({ query: { cursor, limit } }, { keyGroups }) {
    const { items, next } = await keyGroups.list({ startAfter: decodeCursor(cursor), limit })
    return { items: items.map(describeKeyGroup), nextCursor: encodeCursor(next) }
  },
})
