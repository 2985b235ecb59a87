import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
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
  requires: ['objectOwnership', 'objects'],
  // It has the cluster's block. Without it there are no public policies, and the flags are those of S3 alone.
  optional: ['bucketPolicy'],
  contributes: { 'admin.operation': operations },
  config: Type.Object({}),
  setup() {},
})
