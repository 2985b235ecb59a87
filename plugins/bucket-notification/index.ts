import { definePlugin } from 'svc/kernel'
import { bindAdminOperation } from 'svc/plugins/admin/api'
import { bindS3Operation } from 'svc/plugins/s3/api'
import { Type } from 'typebox'
import getBucketEvents from './admin/get-bucket-events.ts'
import { createPutBucketEvents } from './admin/put-bucket-events.ts'
import { createBucketNotifications } from './notifications.ts'
import { bucketNotificationPoints } from './points.ts'
import getBucketNotification from './s3/get-bucket-notification-configuration.ts'
import { createPutBucketNotification } from './s3/put-bucket-notification-configuration.ts'

export default definePlugin({
  name: 'bucket-notification',
  requires: ['objects', 'store'],
  provides: ['bucketNotifications'],
  points: bucketNotificationPoints,
  config: Type.Object({}),
  setup({ services, ports, point, contribute }) {
    const bucketNotifications = createBucketNotifications(services.store, point('notification.target'))
    const bound = { ...services, bucketNotifications }
    contribute('s3.operation', getBucketNotification.name, bindS3Operation(getBucketNotification, bound))
    const put = createPutBucketNotification(bound, ports)
    contribute('s3.operation', put.name, put)
    for (const operation of [getBucketEvents, createPutBucketEvents(ports)]) {
      contribute('admin.operation', operation.id, bindAdminOperation(operation, bound), { optional: true })
    }
    return { services: { bucketNotifications } }
  },
})
