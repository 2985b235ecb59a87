import { defineS3Operation } from 'svc/plugins/s3/api'
import type { LoggingStatus } from '../logging-status.ts'

export default defineS3Operation({
  name: 'GetBucketLogging',
  summary: 'Says where the access log of a bucket goes; empty where there is none.',
  match: { method: 'GET', level: 'bucket', query: ['logging'] },
  action: 's3:GetBucketLogging',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'BucketLoggingStatus' },
  errors: ['NoSuchBucket'],
  uses: ['bucketLogging', 'objects'],
  async handle({ bucket }, { bucketLogging: documents, objects }) {
    await objects.getBucket(bucket)
    const status = (await documents.get(bucket))?.value
    return { xml: status === undefined ? {} : { LoggingEnabled: describe(status) } }
  },
})

function describe({ targetBucket, targetPrefix, keyFormat }: LoggingStatus) {
  const PartitionDateSource = keyFormat === 'event-time' ? 'EventTime' : 'DeliveryTime'
  const format = keyFormat === 'simple' ? { SimplePrefix: '' } : { PartitionedPrefix: { PartitionDateSource } }
  return {
    TargetBucket: targetBucket,
    TargetPrefix: targetPrefix,
    TargetObjectKeyFormat: keyFormat === undefined ? undefined : format,
  }
}
