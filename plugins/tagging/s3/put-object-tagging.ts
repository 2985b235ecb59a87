import { defineS3Operation, versionHeader } from 'svc/plugins/s3/api'
import { readTagging, tagSetElements } from '../tag-set.ts'

export default defineS3Operation({
  name: 'PutObjectTagging',
  summary: 'Replaces the tags of an object; its bytes, ETag and time stay.',
  match: { method: 'PUT', level: 'object', query: ['tagging'] },
  action: 's3:PutObjectTagging',
  versionedAction: 's3:PutObjectVersionTagging',
  body: { kind: 'xml', root: 'Tagging', elements: { TagSet: tagSetElements }, maxBytes: 64 * 1024 },
  reply: { kind: 'empty', status: 200 },
  errors: [
    'BadRequest',
    'InvalidArgument',
    'InvalidTag',
    'MalformedXML',
    'MethodNotAllowed',
    'NoSuchBucket',
    'NoSuchKey',
    'NoSuchVersion',
  ],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, query, xml, origin } = request
    const tags = readTagging(xml!, 'object')
    const versionId = await objects.changeVersion(bucket, key, query.get('versionId'), { tags }, origin)
    return { headers: await versionHeader(request, objects, versionId) }
  },
})
