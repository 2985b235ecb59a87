import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../service.ts'
import { readableBy } from './readable-invalidations.ts'
import { describeInvalidation, Invalidation, watch } from './schemas.ts'

export default defineAdminOperation({
  id: 'listInvalidations',
  method: 'GET',
  path: '/cache/invalidations',
  tag: 'cache',
  summary:
    'Lists invalidations, the newest first; they are kept for a day after their end. Those of buckets to which the caller is denied access are left out, also where the invalidation is of all distributions and one of these may be hit.',
  authorize: watch,
  query: Type.Object({
    distribution: Type.Optional(Type.String({ maxLength: 64 })),
    state: Type.Optional(Type.Enum(['in-progress', 'completed', 'failed'])),
    ...pageParameters,
  }),
  response: pageOf(Invalidation),
  uses: ['cacheAdmin'],
  async handle(request, { cacheAdmin }) {
    const { distribution, state, cursor, limit } = request.query
    const mayRead = await readableBy(request, cacheAdmin)
    const after = Number(decodeCursor(cursor))
    const { items, next } = await cacheAdmin.purges.list({
      before: after > 0 ? after : undefined,
      limit,
      matches: one =>
        (distribution === undefined || one.request.distribution === distribution) &&
        (state === undefined || one.state === state) &&
        mayRead(one),
    })
    return {
      items: items.map(describeInvalidation),
      nextCursor: encodeCursor(next === undefined ? undefined : String(next)),
    }
  },
})
