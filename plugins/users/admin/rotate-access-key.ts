import { defineAdminOperation } from 'svc/plugins/admin/api'
import { AccessKeyPair, AccessKeyParameters } from './access-key-schema.ts'
import { callerOf } from './caller.ts'
import { SecretKeyChange } from './secret-schema.ts'

export default defineAdminOperation({
  id: 'rotateAccessKey',
  method: 'POST',
  path: '/access-keys/{accessKey}/rotate',
  tag: 'access-keys',
  summary:
    'Gives an access key another secret key. The old secret key is invalid at once, and its console sessions end.',
  authorize: 'service',
  params: AccessKeyParameters,
  body: SecretKeyChange,
  bodyOptional: true,
  response: AccessKeyPair,
  errors: ['access_key_not_found'],
  uses: ['users', 'authSession'],
  async handle(request, { users, authSession }) {
    const { accessKey } = request.params
    const { secretKey } = await users.rotateAccessKey(callerOf(request), accessKey, request.body.secretKey)
    authSession.endAll(accessKey)
    return { accessKey, secretKey }
  },
})
