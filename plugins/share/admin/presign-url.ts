import { defineAdminOperation, invalidFields, ObjectKey, VersionId } from 'svc/plugins/admin/api'
import { presignUrl } from 'svc/plugins/auth-sigv4/api'
import { requireKeyLength } from 'svc/plugins/objects/api'
import { asHeaderValue } from 'svc/plugins/payload/api'
import { type Static, Type } from 'typebox'
import { objectUrl, signerOf } from '../links.ts'
import { expiresSecondsMax } from './share-schema.ts'

const Text = Type.Optional(Type.String({ maxLength: 2048 }))

const PresignRequest = Type.Object(
  {
    method: Type.Union([Type.Literal('GET'), Type.Literal('HEAD'), Type.Literal('PUT'), Type.Literal('DELETE')]),
    bucket: Type.String({ minLength: 1, maxLength: 255 }),
    key: ObjectKey,
    versionId: Type.Optional(VersionId),
    expiresInSeconds: Type.Integer({ minimum: 1, maximum: expiresSecondsMax, default: 3600 }),
    headers: Type.Optional(
      Type.Record(Type.String({ maxLength: 256 }), Type.String({ maxLength: 2048 }), {
        maxProperties: 50,
        description: 'Signed headers, which the user of the URL must send.',
      }),
    ),
    responseHeaders: Type.Optional(
      Type.Object({
        contentType: Text,
        contentDisposition: Text,
        contentEncoding: Text,
        contentLanguage: Text,
        cacheControl: Text,
        expires: Text,
      }),
    ),
    uploadId: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'With `partNumber`: a part.' })),
    partNumber: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  },
  { $id: 'PresignRequest' },
)

const PresignResult = Type.Object(
  {
    url: Type.String(),
    method: Type.String(),
    headers: Type.Record(Type.String(), Type.String(), { description: 'To be sent with it.' }),
    expiresAt: Type.String({ format: 'date-time' }),
  },
  { $id: 'PresignResult' },
)

type Wanted = Static<typeof PresignRequest>

const actions = { GET: 's3:GetObject', HEAD: 's3:GetObject', PUT: 's3:PutObject', DELETE: 's3:DeleteObject' } as const
/** The client of the URL decides over these alone. */
const reserved = new Set(['authorization', 'connection', 'content-length', 'cookie', 'host', 'transfer-encoding'])

export default defineAdminOperation({
  id: 'presignUrl',
  method: 'POST',
  path: '/presign',
  tag: 'shares',
  summary:
    'Signs a URL for one request to the S3 API with the credentials of the caller. It cannot be revoked separately: it is valid until it expires, or until the credentials change.',
  authorize: 'self',
  authorizeRequest(request) {
    const { method, bucket, key, versionId } = request.body
    const action = `${actions[method]}${versionId === undefined ? '' : 'Version'}`
    return { actions: [action], bucket, key: request.normalizeKey(key), versionId, facts: { versionId } }
  },
  body: PresignRequest,
  response: PresignResult,
  errors: ['invalid_object_key'],
  uses: ['authSigv4', 'iam', 's3', 'ports'],
  async handle(request, { authSigv4, iam, s3, ports: { clock } }) {
    const { method, bucket, expiresInSeconds: expiresSeconds } = request.body
    const key = request.normalizeKey(request.body.key)
    requireKeyLength(key)
    const headers = readHeaders(request.body)
    const signer = await signerOf(request, { authSigv4, iam, s3 })
    const parameters = { ...readParameters(request.body), 'X-Amz-Security-Token': signer.sessionToken }
    const nowMs = clock.now()
    const url = presignUrl(signer, {
      method,
      url: objectUrl(s3.endpointFor(request.exchange), { bucket, key }, parameters),
      expiresSeconds,
      nowMs,
      headers: latin1(headers),
    })
    const expiresMs = signer.endOf(Math.floor(nowMs / 1000) * 1000 + expiresSeconds * 1000)
    return { url, method, headers, expiresAt: new Date(expiresMs).toISOString() }
  },
})

function readHeaders({ headers = {} }: Wanted): Record<string, string> {
  const read: Record<string, string> = {}
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase()
    if (reserved.has(name)) throw invalidFields([{ element: `/headers/${given}`, message: 'cannot be signed' }])
    asHeaderValue(name, value)
    read[name] = value
  }
  return read
}

/** Headers as they are sent, one character for each byte. */
function latin1(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, asHeaderValue(name, value)]))
}

function readParameters({ method, versionId, responseHeaders, uploadId, partNumber }: Wanted) {
  if ((uploadId === undefined) !== (partNumber === undefined)) {
    throw invalidFields([{ element: uploadId === undefined ? '/uploadId' : '/partNumber', message: 'is missing' }])
  }
  if (uploadId !== undefined && method !== 'PUT') {
    throw invalidFields([{ element: '/uploadId', message: 'is for PUT' }])
  }
  if (versionId !== undefined && method === 'PUT') {
    throw invalidFields([{ element: '/versionId', message: 'is not for PUT' }])
  }
  if (responseHeaders !== undefined && method !== 'GET' && method !== 'HEAD') {
    throw invalidFields([{ element: '/responseHeaders', message: 'are for GET and HEAD' }])
  }
  return {
    versionId,
    uploadId,
    partNumber,
    'response-content-type': responseHeaders?.contentType,
    'response-content-disposition': responseHeaders?.contentDisposition,
    'response-content-encoding': responseHeaders?.contentEncoding,
    'response-content-language': responseHeaders?.contentLanguage,
    'response-cache-control': responseHeaders?.cacheControl,
    'response-expires': responseHeaders?.expires,
  }
}
