import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { Plugin } from './server-schema.ts'

/** Public extension points, by the names that operators know; other contributions of a plugin are features. */
const publicPoints = new Map([
  ['storage.backend', 'storage-backend'],
  ['auth.provider', 'auth-provider'],
  ['notify.target', 'notify-target'],
  ['audit.sink', 'audit-sink'],
  ['kms.backend', 'kms-backend'],
  ['dns.provider', 'dns-provider'],
  ['purge.webhook', 'cdn-webhook'],
  ['cache.tier', 'cache-tier'],
])

export default defineAdminOperation({
  id: 'listPlugins',
  method: 'GET',
  path: '/plugins',
  tag: 'server',
  summary:
    'Lists the plugins of the node in the order in which they were started, those that failed to start included.',
  authorize: ['admin:ServerInfo'],
  query: Type.Object(pageParameters),
  response: pageOf(Plugin),
  uses: ['kernel'],
  handle({ query: { cursor, limit } }, { kernel }) {
    const failures = new Map(kernel.degraded().map(({ plugin, error }) => [plugin, error]))
    const all = kernel.plugins()
    const after = decodeCursor(cursor)
    const start = after === undefined ? 0 : all.findIndex(({ name }) => name === after) + 1
    const page = all.slice(start, start + limit)
    const items = page.map(({ name, version, description, origin, dependsOn, startMs }, index) => {
      const error = failures.get(name)
      return {
        name,
        version,
        description,
        origin,
        state: error === undefined ? ('active' as const) : ('failed' as const),
        provides: providedBy(name, kernel.points()),
        dependsOn: [...dependsOn],
        order: start + index,
        ...(startMs === undefined ? {} : { startMs }),
        ...(error === undefined ? {} : { error }),
      }
    })
    return { items, nextCursor: encodeCursor(start + limit < all.length ? page.at(-1)?.name : undefined) }
  },
})

function providedBy(plugin: string, points: ReturnType<import('svc/kernel').KernelService['points']>) {
  const provided = points.flatMap(({ name, contributions }) => {
    const extensionPoint = publicPoints.get(name)
    if (extensionPoint === undefined) return []
    return contributions.filter(one => one.plugin === plugin).map(({ id }) => ({ extensionPoint, id }))
  })
  return provided.length > 0 ? provided : [{ extensionPoint: 'feature', id: plugin }]
}
