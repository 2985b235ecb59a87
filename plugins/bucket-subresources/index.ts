import 'svc/plugins/cluster-archive/api'
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/s3/api'
import { Type } from 'typebox'
import { createAcceleration } from './acceleration.ts'
import deleteBucketReplication from './s3/delete-bucket-replication.ts'
import deleteBucketWebsite from './s3/delete-bucket-website.ts'
import getBucketAccelerateConfiguration from './s3/get-bucket-accelerate-configuration.ts'
import getBucketReplication from './s3/get-bucket-replication.ts'
import getBucketRequestPayment from './s3/get-bucket-request-payment.ts'
import getBucketWebsite from './s3/get-bucket-website.ts'
import getObjectTorrent from './s3/get-object-torrent.ts'
import { namedConfigurationActions, namedConfigurations } from './s3/named-configurations.ts'
import putBucketAccelerateConfiguration from './s3/put-bucket-accelerate-configuration.ts'
import putBucketRequestPayment from './s3/put-bucket-request-payment.ts'

const operations = [
  getBucketAccelerateConfiguration,
  putBucketAccelerateConfiguration,
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
  internal: ['acceleration'],
  contributes: { 's3.operation': operations },
  config: Type.Object({}),
  setup({ services, contribute }) {
    const acceleration = createAcceleration(services.store)
    contribute('archive.section', acceleration.section.documents.name, acceleration.section, { optional: true })
    for (const [name, action] of namedConfigurationActions) contribute('policy.action', name, action)
    return { internal: { acceleration } }
  },
})
