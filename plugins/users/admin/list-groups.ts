import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { describeListedGroup, Group } from './group-schema.ts'
import { Name } from './user-schema.ts'

export default defineAdminOperation({
  id: 'listGroups',
  method: 'GET',
  path: '/groups',
  tag: 'groups',
  summary: 'Lists groups by name, with the number of their members.',
  authorize: ['admin:ListGroups'],
  query: Type.Object({
    prefix: Type.String({ default: '', maxLength: 128 }),
    policy: Type.Optional(Name),
    ...pageParameters,
  }),
  response: pageOf(Group),
  uses: ['users'],
  async handle({ query: { cursor, ...wanted } }, { users }) {
    const { items, next } = await users.listGroups({ ...wanted, startAfter: decodeCursor(cursor) })
    return { items: items.map(describeListedGroup), nextCursor: encodeCursor(next) }
  },
})
