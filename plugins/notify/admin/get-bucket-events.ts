import { BucketParameters, defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { describeEvents, Events } from './events-schema.ts'

export default defineAdminOperation({
  id: 'getBucketEvents',
  method: 'GET',
  path: '/buckets/{bucket}/events',
  tag: 'buckets',
  summary: 'Returns the event subscriptions of a bucket; empty if there are none.',
  authorize: ['s3:GetBucketNotification'],
  params: BucketParameters,
  response: Events,
  etag: true,
  errors: ['bucket_not_found'],
  uses: ['bucketNotifications', 'objects'],
  async handle({ params: { bucket } }, { bucketNotifications, objects }) {
    await objects.getBucket(bucket)
    const { rules, etag } = await bucketNotifications.rules(bucket)
    return replyWith(describeEvents(rules), { etag })
  },
})
