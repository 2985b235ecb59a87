import { adminErrors, defineAdminOperation, replyWithBytes } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../archive.ts'
import { kindNames } from '../kinds.ts'
import { rightsOf } from './rights.ts'

const names = (description: string) =>
  Type.Array(Type.String({ maxLength: 64 }), { default: [], maxItems: 1000, description })

export default defineAdminOperation({
  id: 'exportDistributions',
  method: 'GET',
  path: '/distributions/export',
  tag: 'distributions',
  summary:
    'Returns distributions, their caches, cache policies, cache settings and key groups as YAML documents, to be kept in git. Secrets are references; private keys and built-in policies are left out. Items that the caller may not manage are left out.',
  authorize: 'service',
  query: Type.Object({
    kind: names(`Only these: ${kindNames.join(', ')}.`),
    id: names('Only documents of these names.'),
  }),
  bytes: 'application/yaml',
  errors: ['access_denied', 'archive_too_large'],
  uses: ['distributionArchive'],
  async handle(request, { distributionArchive }) {
    const { query } = request
    const unknown = query.kind.find(kind => !kindNames.some(name => name === kind))
    if (unknown !== undefined)
      throw adminErrors.invalid_argument(
        `query/kind: must be one of ${kindNames.join(', ')}, and is ${JSON.stringify(unknown)}.`,
      )
    const rights = rightsOf(request)
    if (!rights.managesDistributions && !rights.managesCache) throw adminErrors.access_denied()
    const text = await distributionArchive.export({ kinds: new Set(query.kind), names: new Set(query.id) }, rights)
    const bytes = Buffer.from(text)
    return replyWithBytes({
      headers: { 'content-type': 'application/yaml; charset=utf-8', 'cache-control': 'no-store' },
      data: { kind: 'whole', bytes },
      sizeBytes: bytes.length,
    })
  },
})
