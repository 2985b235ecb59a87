import { BucketParameters, defineAdminOperation, ObjectKey, VersionId } from 'svc/plugins/admin/api'
import { presignUrl } from 'svc/plugins/auth-sigv4/api'
import { objectErrors, onDeleteMarker, requireKeyLength } from 'svc/plugins/objects/api'
import { Type } from 'typebox'
import { attachment, objectUrl } from '../links.ts'
import { describeShare, expiresSecondsMax, ShareLink } from './share-schema.ts'

const CreateShare = Type.Object(
  {
    key: ObjectKey,
    versionId: Type.Optional(VersionId),
    expiresInSeconds: Type.Integer({ minimum: 1, maximum: expiresSecondsMax, default: 86_400 }),
    description: Type.Optional(Type.String({ maxLength: 256 })),
    filename: Type.Optional(
      Type.String({ minLength: 1, maxLength: 255, description: 'Under which a browser saves it.' }),
    ),
  },
  { $id: 'CreateShare' },
)

export default defineAdminOperation({
  id: 'createShare',
  method: 'POST',
  path: '/buckets/{bucket}/objects/share',
  tag: 'shares',
  summary: 'Makes a link to one object that can be revoked. It opens no more than its maker may read when it is used.',
  authorize: 'self',
  authorizeRequest(request) {
    const { key, versionId } = request.body
    return {
      actions: [versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion'],
      bucket: request.params.bucket,
      key: request.normalizeKey(key),
      versionId,
      facts: { versionId },
    }
  },
  params: BucketParameters,
  body: CreateShare,
  response: ShareLink,
  location: () => '/shares',
  errors: ['bucket_not_found', 'conflict', 'invalid_object_key', 'object_not_found', 'version_not_found'],
  uses: ['authSigv4', 'objects', 's3', 'users', 'ports'],
  async handle(request, { authSigv4: { region }, objects, s3, users, ports: { clock } }) {
    const { bucket } = request.params
    const { versionId, expiresInSeconds: expiresSeconds, description, filename } = request.body
    const key = request.normalizeKey(request.body.key)
    requireKeyLength(key)
    const disposition = filename === undefined ? undefined : attachment(filename)
    const version = await objects.getObject(bucket, key, versionId)
    if (version.isDeleteMarker) throw onDeleteMarker(version.versionId)
    // A link asks for the object without the headers of a key, and with them it would have another signature.
    if (version.encryption?.type === 'SSE-C') {
      throw objectErrors.InvalidRequest(
        'The object is encrypted with a key of the customer (SSE-C), so nobody could open the link: presign a URL with the headers of the key.',
      )
    }
    const nowMs = clock.now()
    // The URL counts in whole seconds, from its own.
    const expiresMs = Math.floor(nowMs / 1000) * 1000 + expiresSeconds * 1000
    const target = { bucket, key, ...(versionId === undefined ? {} : { versionId }) }
    const caller = { identity: request.identity!, isAllowed: (action: string) => request.isAllowed(action) }
    const { key: made, secretKey } = await users.createAccessKey(caller, {
      share: target,
      description,
      expiresMs: Math.max(expiresMs, nowMs + 1),
    })
    const parameters = {
      versionId,
      'response-content-disposition': disposition,
      // A browser asks again each time: a copy that it kept would open after the link has been revoked.
      'response-cache-control': 'private, no-cache',
    }
    const url = presignUrl(
      { accessKey: made.accessKey, secret: secretKey, region },
      { method: 'GET', url: objectUrl(s3.endpointFor(request.exchange), target, parameters), expiresSeconds, nowMs },
    )
    const link = { ...made, share: target, state: 'active' as const, revokedMs: undefined }
    return { ...describeShare(link), url }
  },
})
