import { noTags } from 'svc/plugins/objects/api'
import { defineS3Operation, versionHeader } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'DeleteObjectTagging',
  summary: 'Removes the tags of an object.',
  match: { method: 'DELETE', level: 'object', query: ['tagging'] },
  action: 's3:DeleteObjectTagging',
  versionedAction: 's3:DeleteObjectVersionTagging',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['InvalidArgument', 'MethodNotAllowed', 'NoSuchBucket', 'NoSuchKey', 'NoSuchVersion'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, query, origin } = request
    const versionId = await objects.changeVersion(bucket, key, query.get('versionId'), { tags: noTags }, origin)
    return { headers: await versionHeader(request, objects, versionId) }
  },
})
