import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../service.ts'
import { watch } from './schemas.ts'
import { describeWarmup, Warmup } from './warmup-schemas.ts'

export default defineAdminOperation({
  id: 'getWarmup',
  method: 'GET',
  path: '/distributions/{id}/cache/warmups/{warmup}',
  tag: 'cache',
  summary: 'Returns a warm-up with its progress. It is kept for an hour after its end, while the server runs.',
  authorize: watch,
  params: Type.Object({
    id: Type.String({ minLength: 1, maxLength: 64 }),
    warmup: Type.String({ minLength: 1, maxLength: 64 }),
  }),
  response: Warmup,
  errors: ['distribution_not_found', 'warmup_not_found'],
  uses: ['cacheAdmin'],
  async handle(request, { cacheAdmin }) {
    const { id, warmup } = request.params
    const { origin } = await cacheAdmin.distribution(id)
    // The warm-up has names of objects, and headers that another caller has given.
    await request.authorize(watch, { bucket: origin.bucket })
    return describeWarmup(await cacheAdmin.warmups.get(id, warmup))
  },
})
