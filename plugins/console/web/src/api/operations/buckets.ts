/** Buckets and their settings. */
import type createBucket from '../../../../../buckets/admin/create-bucket.ts'
import type deleteBucket from '../../../../../buckets/admin/delete-bucket.ts'
import type getBucket from '../../../../../buckets/admin/get-bucket.ts'
import type getBucketVersioning from '../../../../../buckets/admin/get-bucket-versioning.ts'
import type getUsage from '../../../../../buckets/admin/get-usage.ts'
import type listBuckets from '../../../../../buckets/admin/list-buckets.ts'
import type setBucketVersioning from '../../../../../buckets/admin/set-bucket-versioning.ts'
import type getBucketCors from '../../../../../cors/admin/get-bucket-cors.ts'
import type putBucketCors from '../../../../../cors/admin/put-bucket-cors.ts'
import type deleteBucketEncryption from '../../../../../encryption/admin/delete-bucket-encryption.ts'
import type getBucketEncryption from '../../../../../encryption/admin/get-bucket-encryption.ts'
import type resealKms from '../../../../../encryption/admin/reseal-kms.ts'
import type setBucketEncryption from '../../../../../encryption/admin/set-bucket-encryption.ts'
import type getBucketLifecycle from '../../../../../lifecycle/admin/get-bucket-lifecycle.ts'
import type putBucketLifecycle from '../../../../../lifecycle/admin/put-bucket-lifecycle.ts'
import type runBucketLifecycle from '../../../../../lifecycle/admin/run-bucket-lifecycle.ts'
import type getBucketQuota from '../../../../../quota/admin/get-bucket-quota.ts'
import type setBucketQuota from '../../../../../quota/admin/set-bucket-quota.ts'

export interface BucketOperations {
  createBucket: typeof createBucket
  deleteBucket: typeof deleteBucket
  deleteBucketEncryption: typeof deleteBucketEncryption
  getBucket: typeof getBucket
  getBucketCors: typeof getBucketCors
  getBucketEncryption: typeof getBucketEncryption
  getBucketLifecycle: typeof getBucketLifecycle
  getBucketQuota: typeof getBucketQuota
  getBucketVersioning: typeof getBucketVersioning
  getUsage: typeof getUsage
  listBuckets: typeof listBuckets
  putBucketCors: typeof putBucketCors
  putBucketLifecycle: typeof putBucketLifecycle
  resealKms: typeof resealKms
  runBucketLifecycle: typeof runBucketLifecycle
  setBucketEncryption: typeof setBucketEncryption
  setBucketQuota: typeof setBucketQuota
  setBucketVersioning: typeof setBucketVersioning
}
