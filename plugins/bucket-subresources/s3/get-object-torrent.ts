import { objectErrors } from 'svc/plugins/objects/api'
import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'GetObjectTorrent',
  summary: 'Says that there is no torrent of an object: who looks for one goes on without it.',
  match: { method: 'GET', level: 'object', query: ['torrent'] },
  action: 's3:GetObject',
  body: { kind: 'none' },
  reply: { kind: 'data' },
  errors: ['NoSuchBucket', 'NoSuchKey'],
  uses: ['objects'],
  async handle({ bucket, key }, { objects }) {
    await objects.getBucket(bucket)
    throw objectErrors.NoSuchKey('There is no torrent of this object.', { extra: { Key: key } })
  },
})
