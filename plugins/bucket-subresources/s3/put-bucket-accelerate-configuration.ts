import type { ObjectsService } from 'svc/plugins/objects/api'
import type { S3Operation } from 'svc/plugins/s3/api'
import type { Acceleration } from '../acceleration.ts'
import { notBuilt, requireChoice } from '../requests.ts'

export function createPutBucketAccelerateConfiguration(
  objects: ObjectsService,
  acceleration: Acceleration,
): S3Operation {
  return {
    name: 'PutBucketAccelerateConfiguration',
    summary: 'Accepts that transfer acceleration is suspended; it cannot be enabled.',
    match: { method: 'PUT', level: 'bucket', query: ['accelerate'] },
    action: 's3:PutAccelerateConfiguration',
    body: { kind: 'xml', root: 'AccelerateConfiguration', elements: { Status: 'text' }, maxBytes: 16 * 1024 },
    reply: { kind: 'empty', status: 200 },
    errors: ['MalformedXML', 'NoSuchBucket', 'NotImplemented'],
    async handle({ bucket, xml }) {
      const status = requireChoice(xml!, 'Status', ['Enabled', 'Suspended'])
      await objects.getBucket(bucket)
      if (status === 'Enabled') throw notBuilt('Transfer acceleration', 'accelerate')
      await acceleration.suspend(bucket)
      return {}
    },
  }
}
