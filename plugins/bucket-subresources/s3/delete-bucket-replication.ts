import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'DeleteBucketReplication',
  summary: 'Succeeds: there is no replication to remove.',
  match: { method: 'DELETE', level: 'bucket', query: ['replication'] },
  action: 's3:PutReplicationConfiguration',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['NoSuchBucket'],
  uses: ['objects'],
  async handle({ bucket }, { objects }) {
    await objects.getBucket(bucket)
    return {}
  },
})
