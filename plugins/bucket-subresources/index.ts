import 'svc/plugins/cluster-archive/api'
import { definePlugin } from 'svc/kernel'
import { bindS3Operation } from 'svc/plugins/s3/api'
import { Type } from 'typebox'
import { createAcceleration } from './acceleration.ts'
import deleteBucketReplication from './s3/delete-bucket-replication.ts'
import deleteBucketWebsite from './s3/delete-bucket-website.ts'
import { createGetBucketAccelerateConfiguration } from './s3/get-bucket-accelerate-configuration.ts'
import getBucketReplication from './s3/get-bucket-replication.ts'
import getBucketRequestPayment from './s3/get-bucket-request-payment.ts'
import getBucketWebsite from './s3/get-bucket-website.ts'
import getObjectTorrent from './s3/get-object-torrent.ts'
import { namedConfigurationActions, namedConfigurations } from './s3/named-configurations.ts'
import { createPutBucketAccelerateConfiguration } from './s3/put-bucket-accelerate-configuration.ts'
import putBucketRequestPayment from './s3/put-bucket-request-payment.ts'

const operations = [
  deleteBucketReplication,
  deleteBucketWebsite,
  getBucketReplication,
  getBucketRequestPayment,
  getBucketWebsite,
  getObjectTorrent,
  putBucketRequestPayment,
  ...namedConfigurations,
]

export default definePlugin({
  name: 'bucket-subresources',
  description: 'Settings of buckets that have one value here, such as the location.',
  requires: ['objects', 'store'],
  config: Type.Object({}),
  setup({ services, contribute }) {
    const { objects, store } = services
    const acceleration = createAcceleration(store)
    contribute('archive.section', acceleration.section.documents.name, acceleration.section, { optional: true })
    for (const operation of operations) contribute('s3.operation', operation.name, bindS3Operation(operation, services))
    for (const create of [createGetBucketAccelerateConfiguration, createPutBucketAccelerateConfiguration]) {
      const operation = create(objects, acceleration)
      contribute('s3.operation', operation.name, operation)
    }
    for (const [name, action] of namedConfigurationActions) contribute('policy.action', name, action)
  },
})
