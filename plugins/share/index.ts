/** Links to objects for people without credentials. */
import { definePlugin } from 'svc/kernel'
import { bindAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { createCreatePostPolicy } from './admin/create-post-policy.ts'
import { createCreateShare } from './admin/create-share.ts'
import listShares from './admin/list-shares.ts'
import { createPresignUrl } from './admin/presign-url.ts'
import revokeShare from './admin/revoke-share.ts'
import { createShareCleaner } from './share-cleaner.ts'

export default definePlugin({
  name: 'share',
  description: 'Links to objects for people without credentials.',
  requires: ['authSigv4', 'iam', 'objects', 's3', 'users'],
  config: Type.Object({}),
  setup({ services, ports, log, threads, contribute }) {
    const { clock } = ports
    const operations = [
      createCreateShare(clock.now),
      listShares,
      revokeShare,
      createPresignUrl(clock.now),
      createCreatePostPolicy(clock.now),
    ]
    for (const operation of operations) {
      contribute('admin.operation', operation.id, bindAdminOperation(operation, services), { optional: true })
    }
    if (!threads.isMain) return {}
    const cleaner = createShareCleaner(services.users, clock, log)
    return { serve: cleaner.start, drain: cleaner.stop }
  },
})
