import { definePlugin } from 'svc/kernel'
import { bindAdminOperation } from 'svc/plugins/admin/api'
import 'svc/plugins/bucket-policy/api'
import 'svc/plugins/object-ownership/api'
import 'svc/plugins/objects/api'
import { Type } from 'typebox'
import getBlockPublic from './admin/get-block-public.ts'
import getBucketBlockPublic from './admin/get-bucket-block-public.ts'
import setBucketBlockPublic from './admin/set-bucket-block-public.ts'

const operations = [getBlockPublic, getBucketBlockPublic, setBucketBlockPublic]

export default definePlugin({
  name: 'access-rules',
  description: 'Block public access over the Admin API.',
  requires: ['bucketPolicy', 'objectOwnership', 'objects'],
  config: Type.Object({}),
  setup({ services, contribute }) {
    for (const operation of operations) {
      contribute('admin.operation', operation.id, bindAdminOperation(operation, services), { optional: true })
    }
  },
})
