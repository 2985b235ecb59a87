import { defineS3Operation } from 'svc/plugins/s3/api'
import { notBuilt } from '../requests.ts'

export default defineS3Operation<'objects'>({
  name: 'PutBucketLogging',
  summary: 'Accepts that access logging is off; it cannot be turned on.',
  match: { method: 'PUT', level: 'bucket', query: ['logging'] },
  action: 's3:PutBucketLogging',
  body: {
    kind: 'xml',
    root: 'BucketLoggingStatus',
    elements: { LoggingEnabled: 'anything' },
    maxBytes: 64 * 1024,
  },
  reply: { kind: 'empty', status: 200 },
  errors: ['MalformedXML', 'NoSuchBucket', 'NotImplemented'],
  async handle({ bucket, xml }, { objects }) {
    await objects.getBucket(bucket)
    if (xml!.children.length > 0) throw notBuilt('Access logs of buckets', 'access-log')
    return {}
  },
})
