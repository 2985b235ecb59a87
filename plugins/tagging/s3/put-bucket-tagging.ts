import { defineS3Operation } from 'svc/plugins/s3/api'
import { readTagging, tagSetElements } from '../tag-set.ts'

export default defineS3Operation({
  name: 'PutBucketTagging',
  summary: 'Replaces the tags of a bucket.',
  match: { method: 'PUT', level: 'bucket', query: ['tagging'] },
  action: 's3:PutBucketTagging',
  body: { kind: 'xml', root: 'Tagging', elements: { TagSet: tagSetElements }, maxBytes: 256 * 1024 },
  reply: { kind: 'empty', status: 204 },
  errors: ['BadRequest', 'InvalidTag', 'MalformedXML', 'NoSuchBucket'],
  uses: ['objects'],
  async handle({ bucket, xml }, { objects }) {
    await objects.changeBucket(bucket, { tags: readTagging(xml!, 'bucket') })
    return {}
  },
})
