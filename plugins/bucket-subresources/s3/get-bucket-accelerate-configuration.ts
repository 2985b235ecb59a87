import { defineS3Operation } from 'svc/plugins/s3/api'
import type {} from '../acceleration.ts'

export default defineS3Operation({
  name: 'GetBucketAccelerateConfiguration',
  summary: 'Says that transfer acceleration is suspended, or nothing where that was never said.',
  match: { method: 'GET', level: 'bucket', query: ['accelerate'] },
  action: 's3:GetAccelerateConfiguration',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'AccelerateConfiguration' },
  errors: ['NoSuchBucket'],
  uses: ['acceleration', 'objects'],
  async handle({ bucket }, { acceleration, objects }) {
    await objects.getBucket(bucket)
    return { xml: { Status: await acceleration.status(bucket) } }
  },
})
