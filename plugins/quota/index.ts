import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/stored-needs/api'
import { Type } from 'typebox'
import getBucketQuota from './admin/get-bucket-quota.ts'
import setBucketQuota from './admin/set-bucket-quota.ts'
import { createQuota } from './quota.ts'

const adminOperations = [getBucketQuota, setBucketQuota]

export default definePlugin({
  name: 'quota',
  description: 'Limits on the bytes of buckets.',
  requires: ['objects'],
  provides: ['quota'],
  contributes: { 'admin.operation': adminOperations },
  config: Type.Object({}),
  setup({ services, contribute }) {
    const quota = createQuota(services.objects)
    contribute(
      'stored.need',
      'quota',
      {
        sign: { kind: 'record', name: 'bucket-quota' },
        has: 'a quota',
        consequence: 'existing quotas are enforced, but cannot be read or changed',
      },
      { optional: true },
    )
    return { services: { quota } }
  },
})
