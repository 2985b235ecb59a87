import { defineS3Operation } from 'svc/plugins/s3/api'
import { describeRules } from '../document.ts'

export default defineS3Operation({
  name: 'GetBucketNotificationConfiguration',
  summary: 'Returns the notification rules of a bucket; empty if there are none.',
  match: { method: 'GET', level: 'bucket', query: ['notification'] },
  action: 's3:GetBucketNotification',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'NotificationConfiguration' },
  errors: ['NoSuchBucket'],
  uses: ['bucketNotifications', 'objects'],
  async handle({ bucket }, { bucketNotifications, objects }) {
    await objects.getBucket(bucket)
    const { rules } = await bucketNotifications.rules(bucket)
    return { xml: describeRules(rules) }
  },
})
