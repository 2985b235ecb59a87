import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { AccessKey, describeAccessKey, Expiry, KeyName } from './access-key-schema.ts'
import { callerOf } from './caller.ts'
import { PolicyText, policyBytesMax } from './policy-document-schema.ts'
import { SecretKey } from './secret-schema.ts'
import { AccessKeyName, Description, ignored } from './user-schema.ts'

const CreateAccessKey = Type.Object(
  {
    user: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Default: that of the caller.' })),
    accessKey: Type.Optional(AccessKeyName),
    secretKey: Type.Optional(SecretKey),
    name: Type.Optional(KeyName),
    description: Type.Optional(Description),
    expiresAt: Type.Optional(Type.Union([Expiry, Type.Null()])),
    policy: Type.Optional(
      Type.Union([PolicyText, Type.Null()], { description: 'Limits the rights of the user. Without principals.' }),
    ),
    state: ignored,
    createdAt: ignored,
    createdBy: ignored,
    updatedAt: ignored,
    lastUsedAt: ignored,
  },
  { $id: 'CreateAccessKey' },
)

const CreatedAccessKey = Type.Object(
  { ...AccessKey.properties, secretKey: Type.String({ description: 'Shown this once.' }) },
  { $id: 'CreatedAccessKey' },
)

export default defineAdminOperation({
  id: 'createAccessKey',
  method: 'POST',
  path: '/access-keys',
  tag: 'access-keys',
  summary:
    'Creates an access key of the caller, or of another user. The first needs no right, but a limited key or session cannot do it; the second needs `admin:CreateServiceAccount`. The secret key is shown in this answer only.',
  authorize: 'service',
  body: CreateAccessKey,
  bodyBytesMax: policyBytesMax,
  bodyOptional: true,
  response: CreatedAccessKey,
  location: ({ accessKey }) => `/access-keys/${encodeURIComponent(accessKey)}`,
  errors: ['already_exists', 'malformed_policy', 'user_not_found'],
  uses: ['users'],
  async handle(request, { users }) {
    const { expiresAt, policy, ...wanted } = request.body
    const { key, secretKey } = await users.createAccessKey(callerOf(request), {
      ...wanted,
      expiresMs: expiresAt == null ? undefined : Date.parse(expiresAt),
      policy: policy ?? undefined,
    })
    return { ...describeAccessKey(key), secretKey }
  },
})
