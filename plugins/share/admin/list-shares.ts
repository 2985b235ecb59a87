import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { describeShare, ShareLink } from './share-schema.ts'

export default defineAdminOperation({
  id: 'listShares',
  method: 'GET',
  path: '/shares',
  tag: 'shares',
  summary: 'Lists share links, by default the active ones of the caller. Their URLs are not returned again.',
  authorize: 'self',
  query: Type.Object({
    bucket: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    state: Type.Union([Type.Literal('active'), Type.Literal('revoked'), Type.Literal('expired'), Type.Literal('all')], {
      default: 'active',
      description: 'Expired and revoked links are listed for a day.',
    }),
    user: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    all: Type.Boolean({ default: false, description: 'Of all users.' }),
    ...pageParameters,
  }),
  response: pageOf(ShareLink),
  errors: ['user_not_found'],
  uses: ['users'],
  async handle(request, { users }) {
    const { bucket, state, user, all, cursor, limit } = request.query
    const caller = { identity: request.identity!, isAllowed: (action: string) => request.isAllowed(action) }
    const { items, next } = await users.listShares(caller, {
      user,
      isAll: all,
      bucket,
      state: state === 'all' ? undefined : state,
      startAfter: decodeCursor(cursor),
      limit,
    })
    return { items: items.map(describeShare), nextCursor: encodeCursor(next) }
  },
})
