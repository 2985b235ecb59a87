import { defineS3Operation } from 'svc/plugins/s3/api'

const statuses = { off: undefined, enabled: 'Enabled', suspended: 'Suspended' } as const

export default defineS3Operation({
  name: 'GetBucketVersioning',
  summary: 'Says whether a bucket keeps versions; nothing where it was never said.',
  match: { method: 'GET', level: 'bucket', query: ['versioning'] },
  action: 's3:GetBucketVersioning',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'VersioningConfiguration' },
  errors: ['NoSuchBucket'],
  uses: ['objects'],
  async handle({ bucket }, { objects }) {
    const { versioning } = await objects.getBucket(bucket)
    return { xml: { Status: statuses[versioning] } }
  },
})
