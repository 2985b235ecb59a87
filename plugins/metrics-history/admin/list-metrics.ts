import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { FamilyType } from './metrics-schema.ts'

const MetricFamily = Type.Object(
  {
    name: Type.String(),
    type: FamilyType,
    help: Type.String(),
    unit: Type.Optional(Type.String({ description: 'From the name: `seconds`, `bytes`.' })),
    labels: Type.Array(Type.String()),
  },
  { $id: 'MetricFamily' },
)

export default defineAdminOperation({
  id: 'listMetrics',
  method: 'GET',
  path: '/metrics',
  tag: 'monitoring',
  summary: 'Lists the metric families of which this node has a history of 24 hours.',
  authorize: [['admin:Prometheus', 'admin:ServerInfo']],
  query: Type.Object({ prefix: Type.String({ default: '', description: 'Of the name.' }), ...pageParameters }),
  response: pageOf(MetricFamily),
  uses: ['metricsHistory'],
  async handle({ query: { prefix, cursor, limit } }, { metricsHistory }) {
    const after = decodeCursor(cursor) ?? ''
    const rest = (await metricsHistory.families()).filter(({ name }) => name.startsWith(prefix) && name > after)
    const items = rest.slice(0, limit).map(({ name, help, type, labels }) => {
      const unit = /_(seconds|bytes)(_total)?$/.exec(name)?.[1]
      return { name, type, help, ...(unit !== undefined && { unit }), labels: [...labels] }
    })
    return { items, nextCursor: encodeCursor(rest.length > limit ? items.at(-1)?.name : undefined) }
  },
})
