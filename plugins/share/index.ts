/** Links to objects for people without credentials. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import { Type } from 'typebox'
import createPostPolicy from './admin/create-post-policy.ts'
import createShare from './admin/create-share.ts'
import listShares from './admin/list-shares.ts'
import presignUrl from './admin/presign-url.ts'
import revokeShare from './admin/revoke-share.ts'
import { errorPage } from './error-page.ts'
import { createShareCleaner } from './share-cleaner.ts'

export default definePlugin({
  name: 'share',
  description: 'Links to objects for people without credentials.',
  requires: ['authSigv4', 'iam', 'objects', 's3', 'users'],
  contributes: { 'admin.operation': [createShare, listShares, revokeShare, presignUrl, createPostPolicy] },
  config: Type.Object({}),
  setup({ services, ports, log, threads, contribute }) {
    contribute('s3.error-page', 'share', errorPage)
    const { clock } = ports
    if (!threads.isMain) return {}
    const cleaner = createShareCleaner(services.users, clock, log)
    return { serve: cleaner.start, drain: cleaner.stop }
  },
})
