import {
  adminErrors,
  BucketParameters,
  checkField,
  defineAdminOperation,
  ObjectKey,
  replyWithBytes,
  VersionId,
} from 'svc/plugins/admin/api'
import { type ObjectVersion, onDeleteMarker, requireKeyLength } from 'svc/plugins/objects/api'
import { Type } from 'typebox'
import { folderPrefixes, outermost } from '../folders.ts'
import { requireKeys, zipEntries } from '../zip-content.ts'
import { commonFolderLength } from '../zip-names.ts'
import { createZipStream } from '../zip-stream.ts'
import { disposition, untrustedHeaders } from './download-headers.ts'

const ZipRequest = Type.Object(
  {
    objects: Type.Array(Type.Object({ key: ObjectKey, versionId: Type.Optional(VersionId) }), {
      default: [],
      maxItems: 1000,
    }),
    prefixes: Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
      default: [],
      maxItems: 100,
      description: 'Folders, with everything below them; a missing slash at the end is added.',
    }),
    name: Type.Optional(
      Type.String({ minLength: 1, maxLength: 255, description: 'Name of the file; default: the name of the bucket.' }),
    ),
    check: Type.Boolean({
      default: false,
      description: 'Only checks what can be checked before an archive begins; the answer has no body.',
    }),
  },
  { $id: 'ZipRequest' },
)

export default defineAdminOperation({
  id: 'downloadZip',
  method: 'POST',
  path: '/buckets/{bucket}/objects/download-zip',
  tag: 'objects',
  summary:
    'Returns objects and the objects in folders as one archive, each once. The request fails if a named object, or its encryption key, is missing; objects in folders that cannot be read, or not by this caller, are listed in _skipped.json with the reason. If an archive cannot be completed, the connection is closed.',
  isSafe: true,
  isBulk: true,
  authorize: 'service',
  params: BucketParameters,
  body: ZipRequest,
  formField: 'request',
  crossSite: 'origin',
  bytes: 'application/zip',
  errors: ['bucket_not_found', 'invalid_object_key', 'object_not_found', 'version_not_found'],
  uses: ['objects', 'checksums', 'ports'],
  async handle(request, { objects, checksums, ports: { clock } }) {
    const { bucket } = request.params
    const { name = bucket, check } = request.body
    const wanted = request.body.objects.map(({ key, versionId }) => ({ key: request.normalizeKey(key), versionId }))
    const prefixes = folderPrefixes(request, request.body.prefixes)
    if (wanted.length + prefixes.length === 0)
      throw adminErrors.invalid_argument('The request names no objects and no folders.')
    for (const prefix of prefixes) {
      await request.authorize(['s3:ListBucket'], { bucket, facts: { query: new Map([['prefix', prefix]]) } })
    }
    const named: ObjectVersion[] = []
    const seen = new Set<string>()
    for (const [index, { key, versionId }] of wanted.entries()) {
      const name = JSON.stringify([key, versionId])
      if (seen.has(name)) continue
      seen.add(name)
      const element = `/objects/${index}`
      checkField(element, () => requireKeyLength(key))
      const action = versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion'
      await request.authorize([action], { bucket, key, versionId, facts: { versionId } })
      const find = async () => {
        const version = await objects.getObject(bucket, key, versionId)
        if (version.isDeleteMarker) throw onDeleteMarker(version.versionId)
        return version
      }
      named.push(await checkField(element, find, ['NoSuchKey', 'NoSuchVersion', 'MethodNotAllowed']))
    }
    await requireKeys(objects, named)
    await objects.getBucket(bucket)
    if (check) return replyWithBytes({ status: 204, headers: {}, data: undefined })
    const keys = wanted.map(({ key }) => key)
    const entries = zipEntries({
      objects,
      bucket,
      named,
      prefixes: outermost(prefixes),
      skipChars: commonFolderLength(keys, prefixes),
      nowMs: clock.now(),
      isGone: () => request.exchange.response.destroyed,
      mayRead: key => request.isAllowed('s3:GetObject', bucket, key),
    })
    return replyWithBytes({
      headers: {
        ...untrustedHeaders,
        // The console fetches it in a frame of its own, where Firefox and Safari ask this of downloads, too.
        'x-frame-options': 'SAMEORIGIN',
        'content-type': 'application/zip',
        'content-disposition': disposition('attachment', name.endsWith('.zip') ? name : `${name}.zip`),
      },
      data: { kind: 'stream', ...createZipStream(entries, checksums) },
    })
  },
})
