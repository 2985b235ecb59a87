import { definePlugin } from 'svc/kernel'
import { bindS3Operation } from 'svc/plugins/s3/api'
import { Type } from 'typebox'
import createBucket from './s3/create-bucket.ts'
import deleteBucket from './s3/delete-bucket.ts'
import getBucketLocation from './s3/get-bucket-location.ts'
import headBucket from './s3/head-bucket.ts'
import listBuckets from './s3/list-buckets.ts'
import listObjects from './s3/list-objects.ts'
import listObjectsV2 from './s3/list-objects-v2.ts'

const operations = [createBucket, deleteBucket, getBucketLocation, headBucket, listBuckets, listObjects, listObjectsV2]

export default definePlugin({
  name: 'bucket-operations',
  requires: ['objects', 'iam', 'authSigv4'],
  config: Type.Object({}),
  setup({ services, contribute }) {
    for (const operation of operations) contribute('s3.operation', operation.name, bindS3Operation(operation, services))
  },
})
