import { noTags, onDeleteMarker } from 'svc/plugins/objects/api'
import { defineS3Operation, versionHeader } from 'svc/plugins/s3/api'
import { describeTags } from '../tag-set.ts'

export default defineS3Operation({
  name: 'GetObjectTagging',
  summary: 'Returns the tags of an object.',
  match: { method: 'GET', level: 'object', query: ['tagging'] },
  action: 's3:GetObjectTagging',
  versionedAction: 's3:GetObjectVersionTagging',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'Tagging' },
  errors: ['InvalidArgument', 'MethodNotAllowed', 'NoSuchBucket', 'NoSuchKey', 'NoSuchVersion'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, query } = request
    const version = await objects.getObject(bucket, key, query.get('versionId'))
    if (version.isDeleteMarker) throw onDeleteMarker(version.versionId)
    return {
      headers: await versionHeader(request, objects, version.versionId),
      xml: describeTags(version.tags ?? noTags),
    }
  },
})
