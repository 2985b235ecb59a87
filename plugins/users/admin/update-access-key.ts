import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { AccessKey, AccessKeyParameters, describeAccessKey, Expiry, KeyName } from './access-key-schema.ts'
import { callerOf } from './caller.ts'
import { PolicyText, policyBytesMax } from './policy-document-schema.ts'
import { Description, ignored, Status } from './user-schema.ts'

const AccessKeyChange = Type.Object(
  {
    name: Type.Optional(Type.Union([KeyName, Type.Null()])),
    description: Type.Optional(Type.Union([Description, Type.Null()])),
    status: Type.Optional(Status),
    expiresAt: Type.Optional(Type.Union([Expiry, Type.Null()])),
    policy: Type.Optional(Type.Union([PolicyText, Type.Null()])),
    accessKey: ignored,
    user: ignored,
    state: ignored,
    createdAt: ignored,
    createdBy: ignored,
    updatedAt: ignored,
    etag: ignored,
    lastUsedAt: ignored,
  },
  { $id: 'AccessKeyChange', description: 'Absent fields stay unchanged; null clears a field.' },
)

export default defineAdminOperation({
  id: 'updateAccessKey',
  method: 'PATCH',
  path: '/access-keys/{accessKey}',
  tag: 'access-keys',
  summary: 'Changes an access key, at once. Credentials with an embedded policy cannot change any.',
  authorize: 'service',
  params: AccessKeyParameters,
  body: AccessKeyChange,
  bodyBytesMax: policyBytesMax,
  response: AccessKey,
  etag: true,
  errors: ['access_key_not_found', 'malformed_policy', 'precondition_failed'],
  uses: ['users'],
  async handle(request, { users }) {
    const { expiresAt, name, description, status, policy } = request.body
    const expiresMs = typeof expiresAt === 'string' ? Date.parse(expiresAt) : expiresAt
    const change = { name, description, status, policy, expiresMs, ifMatch: request.ifMatch }
    return describeAccessKey(await users.updateAccessKey(callerOf(request), request.params.accessKey, change))
  },
})
