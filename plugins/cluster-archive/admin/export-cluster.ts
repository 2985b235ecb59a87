import { defineAdminOperation, replyWithBytes } from 'svc/plugins/admin/api'
import type { ClusterArchive } from '../cluster-archive.ts'

export function createExportCluster(archive: ClusterArchive, now: () => number) {
  return defineAdminOperation({
    id: 'exportCluster',
    method: 'GET',
    path: '/cluster/export',
    tag: 'cluster',
    summary:
      'Returns an archive of users, groups, policies, access keys, configuration and settings of buckets, without objects. Secrets in it are sealed under the root credentials.',
    authorize: ['admin:ExportCluster'],
    bytes: 'application/zip',
    crossSite: 'origin',
    errors: ['conflict'],
    async handle() {
      const bytes = await archive.export()
      const day = new Date(now()).toISOString().slice(0, 10)
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
}
