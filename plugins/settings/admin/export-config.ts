import { defineAdminOperation, replyWithBytes } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { formatSettings } from '../text-format.ts'

const files = {
  json: { name: 'config.json', type: 'application/json; charset=utf-8' },
  text: { name: 'config.txt', type: 'text/plain; charset=utf-8' },
} as const

export default defineAdminOperation({
  id: 'exportConfig',
  method: 'GET',
  path: '/config/export',
  tag: 'config',
  summary: 'Returns all values that were set, as a file for an import. Secrets are masked unless they are requested.',
  authorize: ['admin:GetConfig'],
  authorizeRequest: ({ query }) => ({
    actions: query.includeSecrets ? ['admin:GetConfig', 'admin:ExportCluster'] : ['admin:GetConfig'],
  }),
  query: Type.Object({
    format: Type.Union([Type.Literal('json'), Type.Literal('text')], {
      default: 'json',
      description: 'text: lines of the form `subsystem key=value`.',
    }),
    includeSecrets: Type.Boolean({ default: false, description: 'Needs admin:ExportCluster as well.' }),
  }),
  bytes: 'application/octet-stream',
  uses: ['settings'],
  async handle({ query: { format, includeSecrets } }, { settings }) {
    const map = await settings.administration.export(includeSecrets)
    const text = format === 'text' ? formatSettings(map) : `${JSON.stringify(map, undefined, 2)}\n`
    const { name, type } = files[format]
    return replyWithBytes({
      headers: {
        'content-type': type,
        'content-disposition': `attachment; filename="${name}"`,
        'cache-control': 'no-store',
      },
      data: { kind: 'whole', bytes: Buffer.from(text) },
    })
  },
})
