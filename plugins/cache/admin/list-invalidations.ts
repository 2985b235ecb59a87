import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../service.ts'
import { describeInvalidation, Invalidation, watch } from './schemas.ts'
import { visibleDistributions } from './visible-distributions.ts'

export default defineAdminOperation({
  id: 'listInvalidations',
  method: 'GET',
  path: '/cache/invalidations',
  tag: 'cache',
  summary:
    'Lists invalidations, the newest first; they are kept for a day after their end. Those that may have hit a distribution whose bucket the caller is denied are left out.',
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
    const { showsPurge } = await visibleDistributions(request, cacheAdmin)
    const after = Number(decodeCursor(cursor))
    const { items, next } = await cacheAdmin.purges.list({
      before: after > 0 ? after : undefined,
      limit,
      matches: one =>
        (distribution === undefined || one.request.distribution === distribution) &&
        (state === undefined || one.state === state) &&
        showsPurge(one),
    })
    return {
      items: items.map(describeInvalidation),
      nextCursor: encodeCursor(next === undefined ? undefined : String(next)),
    }
  },
})
