import { checkField, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { AccessKey, describeAccessKey, Expiry, KeyName } from './access-key-schema.ts'
import { callerOf } from './caller.ts'
import { PolicyText, policyBytesMax } from './policy-document-schema.ts'
import { SecretKey } from './secret-schema.ts'
import { AccessKeyName, Description, ignored } from './user-schema.ts'

const CreateAccessKey = Type.Object(
  {
    user: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Default: the user of the caller.' })),
    accessKey: Type.Optional(AccessKeyName),
    secretKey: Type.Optional(SecretKey),
    name: Type.Optional(KeyName),
    description: Type.Optional(Description),
    expiresAt: Type.Optional(Type.Union([Expiry, Type.Null()])),
    policy: Type.Optional(
      Type.Union([PolicyText, Type.Null()], { description: 'Limits the rights of the user; has no principals.' }),
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
    'Creates an access key for the caller, or for another user. The former needs no action, but restricted access keys and sessions cannot do it; the latter needs `admin:CreateServiceAccount`. Only this answer contains the secret key.',
  authorize: 'service',
  body: CreateAccessKey,
  bodyBytesMax: policyBytesMax,
  bodyOptional: true,
  response: CreatedAccessKey,
  location: ({ accessKey }) => `/access-keys/${encodeURIComponent(accessKey)}`,
  errors: ['already_exists', 'malformed_policy', 'too_many_access_keys', 'user_not_found'],
  uses: ['users'],
  async handle(request, { users }) {
    const { expiresAt, policy, ...wanted } = request.body
    const expiresMs = expiresAt == null ? undefined : Date.parse(expiresAt)
    const create = () => users.createAccessKey(callerOf(request), { ...wanted, expiresMs, policy: policy ?? undefined })
    const { key, secretKey } = await checkField('/accessKey', create, ['already_exists'])
    return { ...describeAccessKey(key), secretKey }
  },
})
