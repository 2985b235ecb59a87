import type { ObjectsService } from 'svc/plugins/objects/api'
import type { S3Operation } from 'svc/plugins/s3/api'
import type { Acceleration } from '../acceleration.ts'

export function createGetBucketAccelerateConfiguration(
  objects: ObjectsService,
  acceleration: Acceleration,
): S3Operation {
  return {
    name: 'GetBucketAccelerateConfiguration',
    summary: 'Says that transfer acceleration is suspended, or nothing where that was never said.',
    match: { method: 'GET', level: 'bucket', query: ['accelerate'] },
    action: 's3:GetAccelerateConfiguration',
    body: { kind: 'none' },
    reply: { kind: 'xml', root: 'AccelerateConfiguration' },
    errors: ['NoSuchBucket'],
    async handle({ bucket }) {
      await objects.getBucket(bucket)
      return { xml: { Status: await acceleration.status(bucket) } }
    },
  }
}
