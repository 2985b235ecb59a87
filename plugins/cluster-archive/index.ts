/** The whole of a deployment but its objects, as one file. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import exportCluster from './admin/export-cluster.ts'
import importCluster from './admin/import-cluster.ts'
import type {} from './api.ts'
import { createClusterArchive } from './cluster-archive.ts'
import { ClusterArchiveConfig } from './config.ts'
import { createPendingImport } from './pending-import.ts'
import { archivePoints } from './points.ts'

/** The pause before an interrupted import is continued, and between attempts. */
const pauseMs = 5000

export default definePlugin({
  name: 'cluster-archive',
  description: 'Users, policies, configuration, settings of buckets and distributions as one archive, out and in.',
  requires: ['iam', 'locks', 'objects', 'settings', 'store', 'users'],
  points: archivePoints,
  internal: ['clusterArchive'],
  contributes: { 'admin.operation': [exportCluster, importCluster] },
  config: ClusterArchiveConfig,
  setup({ config: { rootPassword }, services, ports, log, point, background }) {
    const { iam, locks, objects, settings, store, users } = services
    const clusterArchive = createClusterArchive({
      users,
      settings: settings.administration,
      objects,
      store,
      locks,
      iam,
      sections: point('archive.section'),
      parts: point('archive.part'),
      pending: createPendingImport(store),
      ports,
      log,
      rootPassword,
    })
    background({
      name: 'interrupted-import',
      pauseMs,
      async work() {
        await clusterArchive.resume()
        return 'idle'
      },
    })
    return { internal: { clusterArchive } }
  },
})
