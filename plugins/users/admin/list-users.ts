import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { describeUser, Name, Status, User } from './user-schema.ts'

export default defineAdminOperation({
  id: 'listUsers',
  method: 'GET',
  path: '/users',
  tag: 'users',
  summary: 'Lists users by name, without root.',
  authorize: ['admin:ListUsers'],
  query: Type.Object({
    prefix: Type.String({ default: '', maxLength: 128 }),
    group: Type.Optional(Name),
    policy: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Attached to the user itself.' })),
    status: Type.Optional(Status),
    ...pageParameters,
  }),
  response: pageOf(User),
  uses: ['users'],
  async handle({ query: { cursor, ...wanted } }, { users }) {
    const { items, next } = await users.listUsers({ ...wanted, startAfter: decodeCursor(cursor) })
    return { items: items.map(describeUser), nextCursor: encodeCursor(next) }
  },
})
