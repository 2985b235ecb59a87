import { defineS3Operation } from 'svc/plugins/s3/api'
import { settingErrors } from '../errors.ts'

export default defineS3Operation({
  name: 'GetBucketReplication',
  summary: 'Says that a bucket is not replicated.',
  match: { method: 'GET', level: 'bucket', query: ['replication'] },
  action: 's3:GetReplicationConfiguration',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'ReplicationConfiguration' },
  errors: ['NoSuchBucket', 'ReplicationConfigurationNotFoundError'],
  uses: ['objects'],
  async handle({ bucket }, { objects }) {
    await objects.getBucket(bucket)
    throw settingErrors.ReplicationConfigurationNotFoundError(undefined, { extra: { BucketName: bucket } })
  },
})
