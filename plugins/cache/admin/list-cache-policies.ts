import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../service.ts'
import { builtInNames, CachePolicy, describeBuiltIn, describePolicy, manage } from './schemas.ts'

export default defineAdminOperation({
  id: 'listCachePolicies',
  method: 'GET',
  path: '/cache/policies',
  tag: 'cache',
  summary: 'Lists cache policies by name, the built-in ones among them.',
  authorize: manage,
  query: Type.Object(pageParameters),
  response: pageOf(CachePolicy),
  uses: ['cacheAdmin'],
  async handle({ query: { cursor, limit } }, { cacheAdmin }) {
    const after = decodeCursor(cursor) ?? ''
    const stored = (await cacheAdmin.settings.listPolicies()).map(describePolicy)
    const all = [...builtInNames.map(describeBuiltIn), ...stored].sort((a, b) => (a.name < b.name ? -1 : 1))
    const items = all.filter(({ name }) => name > after)
    const page = items.slice(0, limit)
    return { items: page, nextCursor: encodeCursor(items.length > limit ? page.at(-1)?.name : undefined) }
  },
})
