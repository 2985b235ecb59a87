import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type { PurgeFacts } from '../purge/purges.ts'
import type { CacheAdmin } from '../service.ts'
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
    distribution: Type.Optional(
      Type.String({ maxLength: 64, description: 'Its own, and those of all distributions that may have hit it.' }),
    ),
    state: Type.Optional(Type.Enum(['in-progress', 'completed', 'failed'])),
    ...pageParameters,
  }),
  response: Type.Object({
    ...pageOf(Invalidation).properties,
    isPartial: Type.Boolean({
      description: 'The caller is denied the bucket of a distribution: what may have hit it is left out.',
    }),
  }),
  uses: ['cacheAdmin'],
  async handle(request, { cacheAdmin }) {
    const { distribution, state, cursor, limit } = request.query
    const { showsPurge, showsAll } = await visibleDistributions(request, cacheAdmin)
    const isOf = distribution === undefined ? () => true : await purgesOf(distribution, cacheAdmin)
    const after = Number(decodeCursor(cursor))
    const { items, next } = await cacheAdmin.purges.list({
      before: after > 0 ? after : undefined,
      limit,
      matches: one => isOf(one.request) && (state === undefined || one.state === state) && showsPurge(one),
    })
    return {
      items: items.map(describeInvalidation),
      nextCursor: encodeCursor(next === undefined ? undefined : String(next)),
      isPartial: !showsAll,
    }
  },
})

/** Of one that is deleted only its own are told. */
async function purgesOf(
  id: string,
  { distributions, mayHit }: Pick<CacheAdmin, 'distributions' | 'mayHit'>,
): Promise<(request: PurgeFacts['request']) => boolean> {
  const found = (await distributions()).find(one => one.id === id)
  return request =>
    request.distribution === undefined ? found !== undefined && mayHit(found, request) : request.distribution === id
}
