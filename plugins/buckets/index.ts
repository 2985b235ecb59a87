import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/distributions/api'
import { noEncryption } from 'svc/plugins/encryption/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import 'svc/plugins/s3/api'
import { Type } from 'typebox'
import createBucketAsAdmin from './admin/create-bucket.ts'
import deleteBucketAsAdmin from './admin/delete-bucket.ts'
import getBucket from './admin/get-bucket.ts'
import getVersioningAsAdmin from './admin/get-bucket-versioning.ts'
import getUsage from './admin/get-usage.ts'
import listBucketsAsAdmin from './admin/list-buckets.ts'
import setBucketVersioning from './admin/set-bucket-versioning.ts'
import { createPublications } from './publications.ts'
import createBucket from './s3/create-bucket.ts'
import deleteBucket from './s3/delete-bucket.ts'
import getBucketLocation from './s3/get-bucket-location.ts'
import getBucketVersioning from './s3/get-bucket-versioning.ts'
import headBucket from './s3/head-bucket.ts'
import listBuckets from './s3/list-buckets.ts'
import listObjectVersions from './s3/list-object-versions.ts'
import listObjects from './s3/list-objects.ts'
import listObjectsV2 from './s3/list-objects-v2.ts'
import putBucketVersioning from './s3/put-bucket-versioning.ts'
import { registerUsageFamilies } from './usage-families.ts'

const operations = [
  createBucket,
  deleteBucket,
  getBucketLocation,
  getBucketVersioning,
  headBucket,
  listBuckets,
  listObjects,
  listObjectsV2,
  listObjectVersions,
  putBucketVersioning,
]

const adminOperations = [
  createBucketAsAdmin,
  deleteBucketAsAdmin,
  getBucket,
  getVersioningAsAdmin,
  listBucketsAsAdmin,
  setBucketVersioning,
]

export default definePlugin({
  name: 'buckets',
  description: 'Creates, lists and deletes buckets, and switches their versioning.',
  requires: ['objects', 'iam', 'authSigv4', 'locks', 'objectOwnership', 'policy'],
  optional: ['distributions', 'encryption', 'metrics'],
  internal: ['publications'],
  contributes: { 's3.operation': operations, 'admin.operation': [...adminOperations, getUsage] },
  config: Type.Object({}),
  setup({ services, threads, log }) {
    const { objects, objectOwnership, distributions, encryption = noEncryption, metrics = noMetrics } = services
    if (threads.isMain) registerUsageFamilies({ metrics, objects, log })
    return { internal: { encryption, publications: createPublications(distributions, objectOwnership) } }
  },
})
