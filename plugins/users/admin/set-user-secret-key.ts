import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { SecretKeyChange } from './secret-schema.ts'
import { UserParameters } from './user-schema.ts'

const SecretOfUser = Type.Object(
  {
    accessKey: Type.String(),
    secretKey: Type.Optional(Type.String({ description: 'Only if the server generated it. Shown only once.' })),
  },
  { $id: 'SecretOfUser' },
)

export default defineAdminOperation({
  id: 'setUserSecretKey',
  method: 'PUT',
  path: '/users/{user}/secret-key',
  tag: 'users',
  summary:
    'Gives a user another secret key; its sessions end. Without one in the request, one is generated and returned.',
  authorize: ['admin:CreateUser'],
  params: UserParameters,
  body: SecretKeyChange,
  bodyOptional: true,
  response: SecretOfUser,
  errors: ['user_not_found'],
  uses: ['users', 'authSession'],
  async handle({ params: { user }, body }, { users, authSession }) {
    const secretKey = await users.setUserSecretKey(user, body.secretKey)
    authSession.endAll(user)
    return { accessKey: user, ...(secretKey === undefined ? {} : { secretKey }) }
  },
})
