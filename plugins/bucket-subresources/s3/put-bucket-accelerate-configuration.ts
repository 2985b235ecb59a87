import { defineS3Operation } from 'svc/plugins/s3/api'
import type {} from '../acceleration.ts'
import { notBuilt, requireChoice } from '../requests.ts'

export default defineS3Operation({
  name: 'PutBucketAccelerateConfiguration',
  summary: 'Accepts that transfer acceleration is suspended; it cannot be enabled.',
  match: { method: 'PUT', level: 'bucket', query: ['accelerate'] },
  action: 's3:PutAccelerateConfiguration',
  body: { kind: 'xml', root: 'AccelerateConfiguration', elements: { Status: 'text' }, maxBytes: 16 * 1024 },
  reply: { kind: 'empty', status: 200 },
  errors: ['MalformedXML', 'NoSuchBucket', 'NotImplemented'],
  uses: ['acceleration', 'objects'],
  async handle({ bucket, xml }, { acceleration, objects }) {
    const status = requireChoice(xml!, 'Status', ['Enabled', 'Suspended'])
    await objects.getBucket(bucket)
    if (status === 'Enabled') throw notBuilt('Transfer acceleration', 'accelerate')
    await acceleration.suspend(bucket)
    return {}
  },
})
