import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { covers } from '../hosts.ts'
import type {} from '../service.ts'
import { DistributionView, manage, mayManageAs } from './distribution-request.ts'

export default defineAdminOperation({
  id: 'listDistributions',
  method: 'GET',
  path: '/distributions',
  tag: 'distributions',
  summary: 'Lists distributions by id, except those of buckets to which the caller is denied access.',
  authorize: [manage],
  query: Type.Object({
    bucket: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Of this bucket.' })),
    domain: Type.Optional(
      Type.String({ minLength: 1, maxLength: 255, description: 'Those that this name could reach.' }),
    ),
    ...pageParameters,
  }),
  response: pageOf(DistributionView),
  uses: ['distributionsAdmin'],
  async handle(request, { distributionsAdmin: distributions }) {
    const { bucket, domain, cursor, limit } = request.query
    const after = decodeCursor(cursor) ?? ''
    const mayManage = mayManageAs(request)
    const found = []
    for (const each of await distributions.list()) {
      if (each.id <= after || (bucket !== undefined && each.origin.bucket !== bucket)) continue
      if (domain !== undefined && !each.aliases.some(alias => alias === domain || covers(alias, domain))) continue
      if (await mayManage(each.origin.bucket)) found.push(each)
      if (found.length > limit) break
    }
    const items = []
    for (const { view } of found.slice(0, limit)) items.push(await view())
    return { items, nextCursor: encodeCursor(found.length > limit ? items.at(-1)!.id : undefined) }
  },
})
