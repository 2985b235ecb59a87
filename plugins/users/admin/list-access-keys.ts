import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { AccessKey, describeAccessKey } from './access-key-schema.ts'
import { callerOf } from './caller.ts'
import { Status } from './user-schema.ts'

export default defineAdminOperation({
  id: 'listAccessKeys',
  method: 'GET',
  path: '/access-keys',
  tag: 'access-keys',
  summary: 'Lists the access keys of a user, by default of the caller, without share links.',
  authorize: 'service',
  query: Type.Object({
    user: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    status: Type.Optional(Status),
    ...pageParameters,
  }),
  response: pageOf(AccessKey),
  errors: ['user_not_found'],
  uses: ['users'],
  async handle(request, { users }) {
    const { cursor, ...wanted } = request.query
    const { items, next } = await users.listAccessKeys(callerOf(request), {
      ...wanted,
      startAfter: decodeCursor(cursor),
    })
    return { items: items.map(describeAccessKey), nextCursor: encodeCursor(next) }
  },
})
