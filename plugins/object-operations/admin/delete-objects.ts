import { adminErrors, BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'
import { someInTurns } from 'svc/plugins/objects/api'
import { BulkDelete as Deletion, listPageSize, type Target } from '../bulk-delete.ts'
import { deletedTags } from '../deleted-tags.ts'
import { folderPrefixes, outermost } from '../folders.ts'
import { BulkDelete, BulkDeleteResult } from './bulk-delete-schema.ts'

export default defineAdminOperation({
  id: 'deleteObjects',
  method: 'DELETE',
  path: '/buckets/{bucket}/objects',
  tag: 'objects',
  summary:
    'Deletes objects and everything in folders; the answer lists failures. Deletes nothing if the caller may not list one of the folders.',
  authorize: 'service',
  params: BucketParameters,
  body: BulkDelete,
  bodyBytesMax: 2 * 1024 * 1024,
  isBulk: true,
  response: BulkDeleteResult,
  errors: ['bucket_not_found'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket } = request.params
    const { allVersions, bypassGovernance } = request.body
    const listAction = allVersions ? 's3:ListBucketVersions' : 's3:ListBucket'
    const mayList = (prefix: string) =>
      request.isAllowed(listAction, bucket, undefined, {
        query: new Map([
          ['prefix', prefix],
          ['max-keys', String(listPageSize)],
        ]),
      })

    const targets = request.body.objects.map(one => ({ ...one, key: request.normalizeKey(one.key) }))
    if (allVersions && targets.some(({ versionId, etag }) => etag !== undefined && versionId === undefined))
      throw adminErrors.invalid_argument('An etag is of one version: with allVersions it needs a versionId.')
    const folders = folderPrefixes(request, request.body.prefixes)
    if (targets.length + folders.length === 0)
      throw adminErrors.invalid_argument('The request names no objects and no folders.')
    if (await someInTurns(folders, prefix => !mayList(prefix))) throw adminErrors.access_denied()

    const mayDelete = ({ key, versionId }: Target) =>
      request.isAllowed(
        versionId === undefined && !allVersions ? 's3:DeleteObject' : 's3:DeleteObjectVersion',
        bucket,
        key,
        { versionId },
      )
    // Callers who may do nothing in the bucket do not learn whether it exists.
    if (folders.length > 0 || (await someInTurns(targets, mayDelete))) await objects.getBucket(bucket)

    const deletion = new Deletion(request, objects, bucket, bypassGovernance)
    await deletion.deleteAll(targets.filter(({ versionId }) => versionId !== undefined || !allVersions))
    if (allVersions) {
      for (const target of targets.filter(({ versionId }) => versionId === undefined)) {
        if (mayList(target.key)) await deletion.deleteVersions(target.key, target.key)
        else deletion.fail(target, 'access_denied', 'You may not do this.')
      }
    }
    for (const folder of outermost(folders)) {
      if (allVersions) await deletion.deleteVersions(folder)
      else await deletion.deleteCurrent(folder)
    }
    request.note(deletedTags(deletion.result.deleted.map(({ key }) => key)))
    return deletion.result
  },
})
