import { BucketParameters, defineAdminOperation, objectParameters, readObjectParameters } from 'svc/plugins/admin/api'
import { etagOfTags } from 'svc/plugins/tagging/api'
import { Type } from 'typebox'
import { versionsOfKey } from '../versions-of-key.ts'
import { describeDetail, describeVersion, ObjectDetail } from './object-schema.ts'

const versionsMax = 100

export default defineAdminOperation({
  id: 'statObject',
  method: 'GET',
  path: '/buckets/{bucket}/objects/stat',
  tag: 'objects',
  summary:
    'Returns the description of an object, or of one of its versions, with tags and versions if the caller may read them.',
  authorize: 'service',
  authorizeRequest(request) {
    const object = readObjectParameters(request)
    return { actions: [object.versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion'], ...object }
  },
  params: BucketParameters,
  query: Type.Object(objectParameters),
  response: ObjectDetail,
  errors: ['bucket_not_found', 'invalid_object_key', 'object_not_found', 'version_not_found'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, versionId } = readObjectParameters(request)
    const version = await objects.getObject(bucket, key, versionId)
    const mayListVersions = request.isAllowed('s3:ListBucketVersions', bucket, undefined, {
      query: new Map([
        ['prefix', key],
        ['max-keys', String(versionsMax)],
      ]),
    })
    const { versions, isTruncated } = await versionsOfKey(objects, {
      bucket,
      key,
      limit: mayListVersions ? versionsMax : 1,
    })
    const isLatest = versions[0]?.versionId === version.versionId
    const tagAction = versionId === undefined ? 's3:GetObjectTagging' : 's3:GetObjectVersionTagging'
    return {
      ...describeDetail(version, isLatest),
      ...(request.isAllowed(tagAction, bucket, key)
        ? { tags: Object.fromEntries(version.tags ?? []), tagsEtag: etagOfTags(version.tags) }
        : undefined),
      ...(mayListVersions ? { versions: versions.map(describeVersion), versionsTruncated: isTruncated } : undefined),
    }
  },
})
