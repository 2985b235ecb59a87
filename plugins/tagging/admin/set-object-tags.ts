import {
  BucketParameters,
  checkField,
  defineAdminOperation,
  objectParameters,
  readObjectParameters,
} from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { collectTags } from '../tag-set.ts'
import { Tags } from './tags-schema.ts'

export default defineAdminOperation({
  id: 'setObjectTags',
  method: 'PUT',
  path: '/buckets/{bucket}/objects/tags',
  tag: 'objects',
  summary: 'Replaces the tags of an object or of one of its versions, at most 10; none removes them.',
  authorize: [
    ['s3:PutObjectTagging', 's3:PutObjectVersionTagging', 's3:DeleteObjectTagging', 's3:DeleteObjectVersionTagging'],
  ],
  authorizeRequest(request) {
    const object = readObjectParameters(request)
    const tags = Object.entries(request.body.tags)
    const verb = tags.length === 0 ? 'Delete' : 'Put'
    const what = object.versionId === undefined ? 'ObjectTagging' : 'ObjectVersionTagging'
    return { actions: [`s3:${verb}${what}`], ...object, facts: { requestTags: () => new Map(tags) } }
  },
  params: BucketParameters,
  query: Type.Object(objectParameters),
  body: Tags,
  response: Tags,
  errors: ['bucket_not_found', 'invalid_object_key', 'object_not_found', 'version_not_found'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, versionId } = readObjectParameters(request)
    const tags = checkField('/tags', () => collectTags(Object.entries(request.body.tags), 'object'))
    await objects.changeVersion(bucket, key, versionId, { tags }, request.origin)
    return { tags: Object.fromEntries(tags) }
  },
})
