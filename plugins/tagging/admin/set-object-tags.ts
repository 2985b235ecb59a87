import {
  BucketParameters,
  defineAdminOperation,
  objectParameters,
  readObjectParameters,
  replyWith,
} from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { readTags } from '../admin-tags.ts'
import { etagOfTags, expectTags } from '../tags-etag.ts'
import { Tags } from './tags-schema.ts'

export default defineAdminOperation({
  id: 'setObjectTags',
  method: 'PUT',
  path: '/buckets/{bucket}/objects/tags',
  tag: 'objects',
  summary:
    'Replaces the tags of an object or of one of its versions, at most 10; none removes them. The ETag is `tagsEtag` of `statObject`.',
  authorize: [
    ['s3:PutObjectTagging', 's3:PutObjectVersionTagging', 's3:DeleteObjectTagging', 's3:DeleteObjectVersionTagging'],
  ],
  authorizeRequest(request) {
    const object = readObjectParameters(request)
    const tags = Object.entries(request.body.tags)
    const verb = tags.length === 0 ? 'Delete' : 'Put'
    const what = object.versionId === undefined ? 'ObjectTagging' : 'ObjectVersionTagging'
    // The outcome of `If-Match` reveals the present tags.
    const read = request.ifMatch === undefined ? [] : [`s3:Get${what}`]
    return { actions: [`s3:${verb}${what}`, ...read], ...object, facts: { requestTags: () => new Map(tags) } }
  },
  params: BucketParameters,
  query: Type.Object(objectParameters),
  body: Tags,
  response: Tags,
  etag: true,
  errors: ['bucket_not_found', 'invalid_object_key', 'object_not_found', 'precondition_failed', 'version_not_found'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, versionId } = readObjectParameters(request)
    const tags = readTags(request.body.tags, 'object')
    const { ifMatch, origin } = request
    const present = ifMatch === undefined ? undefined : (await objects.getObject(bucket, key, versionId)).tags
    await objects.changeVersion(bucket, key, versionId, { tags, ...expectTags(present, ifMatch) }, origin)
    return replyWith({ tags: Object.fromEntries(tags) }, { etag: etagOfTags(tags) })
  },
})
