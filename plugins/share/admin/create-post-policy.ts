import { defineAdminOperation, headersOfFields, invalidFields, newObjectFields, ObjectKey } from 'svc/plugins/admin/api'
import { requireKeyLength } from 'svc/plugins/objects/api'
import { type Static, Type } from 'typebox'
import { signerOf } from '../links.ts'
import { createPostForm } from '../post-form.ts'
import { expiresSecondsMax } from './share-schema.ts'

const Size = Type.Integer({ minimum: 0, maximum: 5 * 1024 ** 3 })

const PostPolicyRequest = Type.Object(
  {
    bucket: Type.String({ minLength: 1, maxLength: 255 }),
    key: Type.Optional(ObjectKey),
    keyPrefix: Type.Optional(
      Type.String({ maxLength: 1024, description: 'Instead of `key`: the name of the file comes behind it.' }),
    ),
    expiresInSeconds: Type.Integer({ minimum: 1, maximum: expiresSecondsMax, default: 3600 }),
    contentLengthRange: Type.Optional(Type.Object({ min: Size, max: Size }, { description: 'Bytes.' })),
    contentType: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    contentTypePrefix: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: '`image/`' })),
    metadata: newObjectFields.userMetadata,
    tags: newObjectFields.tags,
    storageClass: newObjectFields.storageClass,
    successActionStatus: Type.Union([Type.Literal(200), Type.Literal(201), Type.Literal(204)], { default: 204 }),
    successActionRedirect: Type.Optional(Type.String({ maxLength: 2048, description: 'An http or https URL.' })),
  },
  { $id: 'PostPolicyRequest' },
)

const PostPolicyResult = Type.Object(
  {
    url: Type.String({ description: 'To post the form to, as multipart/form-data, with the field `file` last.' }),
    fields: Type.Record(Type.String(), Type.String()),
    expiresAt: Type.String({ format: 'date-time' }),
  },
  { $id: 'PostPolicyResult' },
)

export type PostPolicyRequest = Static<typeof PostPolicyRequest>

export default defineAdminOperation({
  id: 'createPostPolicy',
  method: 'POST',
  path: '/post-policy',
  tag: 'shares',
  summary:
    'Signs the fields of a form by which a browser uploads to the S3 API, with the credentials of the caller. Their permissions are checked when the form is sent.',
  authorize: 'self',
  authorizeRequest(request) {
    const { bucket, key, keyPrefix = '', tags, storageClass } = request.body
    return {
      actions: ['s3:PutObject', ...(tags === undefined ? [] : ['s3:PutObjectTagging'])],
      bucket,
      key: request.normalizeKey(key ?? keyPrefix),
      facts: {
        createsObject: true,
        headers: headersOfFields({ storageClass }),
        requestTags: () => (tags === undefined ? undefined : new Map(Object.entries(tags))),
      },
    }
  },
  body: PostPolicyRequest,
  response: PostPolicyResult,
  errors: ['invalid_object_key'],
  uses: ['authSigv4', 'iam', 's3', 'ports'],
  async handle(request, { authSigv4, iam, s3, ports: { clock } }) {
    const { body } = request
    requireConsistent(body)
    const key = request.normalizeKey(body.key ?? body.keyPrefix ?? '')
    requireKeyLength(key)
    const signer = await signerOf(request, { authSigv4, iam, s3 })
    const nowMs = clock.now()
    const expiresMs = nowMs + body.expiresInSeconds * 1000
    return {
      url: `${s3.endpointFor(request.exchange)}/${encodeURIComponent(body.bucket)}`,
      fields: createPostForm({ ...body, fixedKey: body.key === undefined ? undefined : key, prefix: key }, signer, {
        nowMs,
        expiresMs,
      }),
      expiresAt: new Date(signer.endOf(expiresMs)).toISOString(),
    }
  },
})

function requireConsistent(wanted: PostPolicyRequest): void {
  const { key, keyPrefix, contentType, contentTypePrefix, contentLengthRange, successActionRedirect } = wanted
  if ((key === undefined) === (keyPrefix === undefined)) {
    throw invalidFields([{ element: '/key', message: 'or /keyPrefix has to be given, and not both' }])
  }
  if (contentType !== undefined && contentTypePrefix !== undefined) {
    throw invalidFields([{ element: '/contentTypePrefix', message: 'excludes /contentType' }])
  }
  if (contentLengthRange !== undefined && contentLengthRange.min > contentLengthRange.max) {
    throw invalidFields([{ element: '/contentLengthRange', message: 'ends before it begins' }])
  }
  if (successActionRedirect !== undefined && !/^https?:\/\//.test(successActionRedirect)) {
    throw invalidFields([{ element: '/successActionRedirect', message: 'is no http or https URL' }])
  }
}
