import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../service.ts'
import { describeInvalidation, Invalidation, watch } from './schemas.ts'

export default defineAdminOperation({
  id: 'listInvalidations',
  method: 'GET',
  path: '/cache/invalidations',
  tag: 'cache',
  summary: 'Lists invalidations, the newest first; they are kept for a day after their end.',
  authorize: watch,
  query: Type.Object({
    distribution: Type.Optional(Type.String({ maxLength: 64 })),
    state: Type.Optional(Type.Enum(['in-progress', 'completed', 'failed'])),
    ...pageParameters,
  }),
  response: pageOf(Invalidation),
  uses: ['cacheAdmin'],
  async handle({ query: { distribution, state, cursor, limit } }, { cacheAdmin }) {
    const after = Number(decodeCursor(cursor))
    const { items, next } = await cacheAdmin.purges.list({
      before: after > 0 ? after : undefined,
      limit,
      matches: one =>
        (distribution === undefined || one.request.distribution === distribution) &&
        (state === undefined || one.state === state),
    })
    return {
      items: items.map(describeInvalidation),
      nextCursor: encodeCursor(next === undefined ? undefined : String(next)),
    }
  },
})
