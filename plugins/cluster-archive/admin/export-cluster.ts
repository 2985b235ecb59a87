import { defineAdminOperation, replyWithBytes } from 'svc/plugins/admin/api'
import type {} from '../cluster-archive.ts'

export default defineAdminOperation({
  id: 'exportCluster',
  method: 'GET',
  path: '/cluster/export',
  tag: 'cluster',
  summary:
    'Returns an archive of users, groups, policies, access keys, configuration, settings of buckets, distributions and everything that these need, without objects and private keys. Secrets in it are sealed under the root credentials.',
  authorize: ['admin:ExportCluster'],
  bytes: 'application/zip',
  crossSite: 'origin',
  errors: ['conflict'],
  uses: ['clusterArchive', 'ports'],
  async handle(_request, { clusterArchive: archive, ports: { clock } }) {
    const bytes = await archive.export()
    const day = new Date(clock.now()).toISOString().slice(0, 10)
    return replyWithBytes({
      headers: {
        'content-type': 'application/zip',
        'content-disposition': `attachment; filename="svc-cluster-${day}.zip"`,
        'cache-control': 'no-store',
      },
      data: { kind: 'whole', bytes },
      sizeBytes: bytes.length,
    })
  },
})
