import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { describeNamedPolicy, NamedPolicy } from './named-policy-schema.ts'

export default defineAdminOperation({
  id: 'listPolicies',
  method: 'GET',
  path: '/policies',
  tag: 'policies',
  summary: 'Lists named policies by name, including built-in ones.',
  authorize: ['admin:ListUserPolicies'],
  query: Type.Object({ prefix: Type.String({ default: '', maxLength: 128 }), ...pageParameters }),
  response: pageOf(NamedPolicy),
  uses: ['users'],
  async handle({ query: { cursor, ...wanted } }, { users }) {
    const { items, next } = await users.listPolicies({ ...wanted, startAfter: decodeCursor(cursor) })
    return { items: items.map(describeNamedPolicy), nextCursor: encodeCursor(next) }
  },
})
