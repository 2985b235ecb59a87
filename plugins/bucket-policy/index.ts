import 'svc/plugins/cluster-archive/api'
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/s3/api'
import 'svc/plugins/stored-needs/api'
import { Type } from 'typebox'
import deleteBucketAccess from './admin/delete-bucket-access.ts'
import deletePolicyAsAdmin from './admin/delete-bucket-policy.ts'
import getBucketAccess from './admin/get-bucket-access.ts'
import getPolicyAsAdmin from './admin/get-bucket-policy.ts'
import putPolicyAsAdmin from './admin/put-bucket-policy.ts'
import setBucketAccess from './admin/set-bucket-access.ts'
import { createBucketPolicy } from './bucket-policy.ts'
import deleteBucketPolicy from './s3/delete-bucket-policy.ts'
import getBucketPolicy from './s3/get-bucket-policy.ts'
import getBucketPolicyStatus from './s3/get-bucket-policy-status.ts'
import putBucketPolicy from './s3/put-bucket-policy.ts'

const adminOperations = [
  deleteBucketAccess,
  deletePolicyAsAdmin,
  getBucketAccess,
  getPolicyAsAdmin,
  putPolicyAsAdmin,
  setBucketAccess,
]

export default definePlugin({
  name: 'bucket-policy',
  description: 'Policies of buckets, for S3 and for the Admin API.',
  requires: ['objectOwnership', 'checksums', 'objects', 'policy', 'store'],
  provides: ['bucketPolicy'],
  contributes: {
    's3.operation': [deleteBucketPolicy, getBucketPolicy, getBucketPolicyStatus, putBucketPolicy],
    'admin.operation': adminOperations,
  },
  config: Type.Object({}),
  setup({ services, log, contribute }) {
    const { service: bucketPolicy, source, section } = createBucketPolicy({ ...services, log })
    contribute('policy.source', 'bucket-policy', source)
    contribute('archive.section', section.documents.name, section, { optional: true })
    contribute(
      'stored.need',
      'bucket-policy',
      {
        sign: { kind: 'bucket-document', name: 'bucket-policy' },
        has: 'a policy',
        consequence:
          'no bucket policy counts, and requests that one denies are allowed where another policy allows them',
      },
      { optional: true },
    )
    return { services: { bucketPolicy } }
  },
})
